/** What a program says while it runs, and waiting for something in it. */
export class Transcript {
  /** @type {Record<string, string>} by stream */
  said = {};
  /** @type {Set<() => void>} */
  #listeners = new Set();

  /** @param {string} stream @param {string} chunk */
  add(stream, chunk) {
    this.said[stream] = (this.said[stream] ?? '') + chunk;
    this.#listeners.forEach((listen) => listen());
  }

  /** @returns {string} for the message of a test that failed */
  toString() {
    return Object.entries(this.said)
      .map(([stream, text]) => `--- ${stream}\n${text}`)
      .join('\n');
  }

  /**
   * @param {RegExp} pattern looked for in everything that a stream has said
   * @param {Promise<unknown>} ended when the program says no more
   * @param {'start' | 'now'} [since] now: what has been said already does not count
   * @returns {Promise<RegExpExecArray>} rejects when the program ended without it
   */
  waitFor(pattern, ended, since = 'start') {
    const skipped = since === 'now' ? { ...this.said } : {};
    return new Promise((resolve, reject) => {
      const look = () => {
        for (const [stream, text] of Object.entries(this.said)) {
          const match = pattern.exec(text.slice(skipped[stream]?.length ?? 0));
          if (match === null) continue;
          this.#listeners.delete(look);
          resolve(match);
          return;
        }
      };
      this.#listeners.add(look);
      look();
      // After a match this rejection comes too late to matter.
      const missing = () => reject(new Error(`the program ended without ${pattern}\n${this}`));
      ended.then(missing, missing);
    });
  }
}
