import assert from 'node:assert/strict';
import { endianness } from 'node:os';
import { describe, it } from 'node:test';
import { SocketCount, endpointKeys } from '../../../src/probes/socket-table.js';

/** As Linux 6.18 writes it; the lines of IPv4 are padded to 150 bytes. */
const TCP = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode                                                     
   0: 0100007F:2328 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 7284674 2 000000006fc29d9e 100 0 0 10 0                   
   1: 0100007F:8000 0100007F:2328 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000                                      
   2: 0100007F:8001 0100007F:2328 01 00000000:00000000 00:00000000 00000000     0        0 7284675 1 000000006fc29d9f 20 4 30 10 -1                  
   3: 0100007F:2328 0100007F:8001 01 00000000:00000000 00:00000000 00000000     0        0 7284676 1 000000006fc29da0 20 4 30 10 -1                  
   4: 0100007F:2328 0100007F:8002 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000                                      
10000: 0200007F:8001 0100007F:2328 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000                                      
10001: 0100007F:EE47 0100007F:2328 04 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000                                      
10002: 0100007F:EE48 0100007F:2328 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000                                      
10003: 0100007F:7FFF 0100007F:2328 01 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000                                      
10004: 0100007F:8010 0100007F:2329 06 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000                                      
10005: 0100007F:8011 0200007F:2328 01 00000000:00000000 03:00001770 00000000     0        0 0 3 0000000000000000                                      
`;

const TCP6 = `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:2328 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0000000000000000FFFF00000100007F:8020 0000000000000000FFFF00000100007F:2328 01 00000000:00000000 00:00000000 00000000     0        0 1 1 0 20 4 30 10 -1
   2: 00000000000000000000000001000000:8021 00000000000000000000000001000000:2328 06 00000000:00000000 00:00000000 00000000     0        0 1 1 0 20 4 30 10 -1
   3: B80D0120000000000000000001000000:8022 B80D0120000000000000000002000000:2328 02 00000000:00000000 00:00000000 00000000     0        0 1 1 0 20 4 30 10 -1
`;

const RANGE = { from: 32768, to: 60999 };
const ONLY_LE = endianness() === 'LE' ? false : 'the captured tables are those of a little endian machine';

/** @param {Record<string, string[]>} endpoints addresses by name @param {number} [port] */
const endpointsOf = (endpoints, port = 9000) =>
  Object.entries(endpoints).map(([endpoint, addresses]) => ({
    endpoint,
    keys: addresses.flatMap((address) => endpointKeys(address, port)),
  }));

describe('endpointKeys()', { skip: ONLY_LE }, () => {
  /** @type {Array<[string, string[]]>} */
  const table = [
    ['127.0.0.1', ['0100007F:2328', '0000000000000000FFFF00000100007F:2328']],
    ['10.1.2.255', ['FF02010A:2328', '0000000000000000FFFF0000FF02010A:2328']],
    ['::1', ['00000000000000000000000001000000:2328']],
    ['::', ['00000000000000000000000000000000:2328']],
    ['2001:db8::2', ['B80D0120000000000000000002000000:2328']],
    ['2001:DB8:1:2:3:4:5:6', ['B80D0120020001000400030006000500:2328']],
    ['fe80::1%eth0', ['000080FE000000000000000001000000:2328']],
    ['::ffff:127.0.0.1', ['0000000000000000FFFF00000100007F:2328', '0100007F:2328']],
  ];
  for (const [address, keys] of table) {
    it(address, () => assert.deepEqual(endpointKeys(address, 9000), keys));
  }

  it('writes a small port with four digits', () => {
    assert.equal(endpointKeys('::1', 80)[0].split(':')[1], '0050');
  });
});

describe('SocketCount', { skip: ONLY_LE }, () => {
  it('counts what is towards each endpoint, over IPv4, over IPv6 and over both', () => {
    const count = new SocketCount(
      RANGE,
      endpointsOf({
        here: ['127.0.0.1', '::1'],
        v4: ['127.0.0.1'],
        v6: ['2001:db8::2'],
        nobody: ['10.0.0.1'],
      }),
    );
    for (const text of [TCP, TCP6]) assert.equal(count.addLines(Buffer.from(text)), text.length);
    assert.deepEqual(count.reading(), {
      timeWait: 6,
      range: { from: 32768, to: 60999, ports: 28232 },
      endpoints: [
        // 8000, 8001 from two addresses, EE47, and 8020 and 8021 over IPv6; EE48 and 7FFF are outside the range.
        { endpoint: 'here', timeWait: 4, portsInUse: 5, portsLeft: 28227 },
        { endpoint: 'v4', timeWait: 3, portsInUse: 4, portsLeft: 28228 },
        { endpoint: 'v6', timeWait: 0, portsInUse: 1, portsLeft: 28231 },
        { endpoint: 'nobody', timeWait: 0, portsInUse: 0, portsLeft: 28232 },
      ],
    });
  });

  it('counts the same however the bytes are cut', () => {
    const bytes = Buffer.from(TCP + TCP6);
    const whole = new SocketCount(RANGE, endpointsOf({ here: ['127.0.0.1', '::1'] }));
    whole.addLines(bytes);
    for (const size of [200, 256, 1000, bytes.length]) {
      const count = new SocketCount(RANGE, endpointsOf({ here: ['127.0.0.1', '::1'] }));
      for (let at = 0; at < bytes.length;) {
        const done = count.addLines(bytes.subarray(at, at + size));
        assert.ok(done > 0);
        at += done;
      }
      assert.deepEqual(count.reading(), whole.reading(), `cut every ${size} bytes`);
    }
  });

  it('takes lines that it does not understand for none', () => {
    const count = new SocketCount(RANGE, endpointsOf({ here: ['127.0.0.1'] }));
    count.addLines(Buffer.from('\n:\n::\n  1: \n  1: 0100007F:8000 0100007F:2328 0\nnothing at all\n'));
    const { timeWait, endpoints } = count.reading();
    assert.deepEqual([timeWait, endpoints[0].portsInUse], [0, 0]);
  });

  it('has figures before there was a line', () => {
    assert.deepEqual(new SocketCount({ from: 10, to: 10 }, endpointsOf({ x: ['::1'] })).reading(), {
      timeWait: 0,
      range: { from: 10, to: 10, ports: 1 },
      endpoints: [{ endpoint: 'x', timeWait: 0, portsInUse: 0, portsLeft: 1 }],
    });
  });
});
