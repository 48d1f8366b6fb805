import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { escape, html, renderPage, scriptJson } from '../../../src/report/html.js';

describe('html', () => {
  it('escapes values in text and in attributes', () => {
    const hostile = `<img src=x onerror="alert(1)"> & 'x'`;
    assert.equal(
      String(html`<p title="${hostile}">${hostile}</p>`),
      '<p title="&lt;img src=x onerror=&quot;alert(1)&quot;&gt; &amp; &#39;x&#39;">&lt;img src=x onerror=&quot;alert(1)&quot;&gt; &amp; &#39;x&#39;</p>',
    );
  });

  it('keeps HTML, joins lists and leaves out missing values', () => {
    const items = ['a<', 'b'].map((text) => html`<i>${text}</i>`);
    assert.equal(String(html`${items}${null}${undefined}${false}${0}`), '<i>a&lt;</i><i>b</i>0');
  });

  it('leaves out characters that no document may have', () => {
    assert.equal(escape('a\u0000b\u001b[31mc\nd'), 'a b [31mc\nd');
  });
});

it('a page contains the licence of the code in it', () => {
  const page = renderPage({ title: 't', verdict: '', main: html`` });
  assert.match(page, /uPlot, script and style:[^]*MIT License[^]*Permission is hereby granted[^]*var uPlot=/);
});

describe('scriptJson', () => {
  it('cannot end its element, and keeps its value', () => {
    const value = { words: '</script><!-- <script> & \u2028 \u2029', list: [1, null, 'ä'] };
    const text = String(scriptJson(value));
    assert.doesNotMatch(text, /[<>&\u2028\u2029]/);
    assert.deepEqual(JSON.parse(text), { ...value, words: '</script><!-- <script> &    ' });
  });
});

describe('texts of files', () => {
  it('turns no direction, and shows no credentials, on the page and in its data', () => {
    const hostile = 'http://user:pw@node:8545/\u202ereversed';
    for (const text of [escape(hostile), String(scriptJson({ label: hostile }))]) {
      assert.doesNotMatch(text, /\u202e|pw/);
      assert.match(text, /http:\/\/\*\*\*@node:8545\/ reversed/);
    }
  });
});
