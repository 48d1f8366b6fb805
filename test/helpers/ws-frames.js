/**
 * Lets a test look at what a WebSocket server says and leave some of it out.
 * @param {(text: string) => boolean} passes whether a frame with this payload goes on
 * @returns {(chunk: Buffer) => Buffer} takes what came next from the server, its answer to the handshake first, gives
 *   what goes on
 */
export function frameFilter(passes) {
  let rest = Buffer.alloc(0);
  let isOpen = false;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    const out = [];
    if (!isOpen) {
      const end = rest.indexOf('\r\n\r\n') + 4;
      if (end < 4) return Buffer.alloc(0);
      isOpen = true;
      out.push(rest.subarray(0, end));
      rest = rest.subarray(end);
    }
    for (let frame = firstFrame(rest); frame !== null; frame = firstFrame(rest)) {
      rest = rest.subarray(frame.bytes.length);
      if (passes(frame.payload.toString())) out.push(frame.bytes);
    }
    return Buffer.concat(out);
  };
}

/**
 * RFC 6455, section 5.2.
 * @param {Buffer} bytes
 * @returns {{opcode: number, isMasked: boolean, payload: Buffer, bytes: Buffer} | null} null: it is not complete
 */
export function firstFrame(bytes) {
  if (bytes.length < 2) return null;
  const isMasked = (bytes[1] & 0x80) !== 0;
  const short = bytes[1] & 0x7f;
  const head = short < 126 ? 2 : short === 126 ? 4 : 10;
  const start = head + (isMasked ? 4 : 0);
  if (bytes.length < start) return null;
  const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  if (bytes.length < start + length) return null;
  const payload = Buffer.from(bytes.subarray(start, start + length));
  if (isMasked) for (let i = 0; i < length; i += 1) payload[i] ^= bytes[head + (i % 4)];
  return { opcode: bytes[0] & 0x0f, isMasked, payload, bytes: bytes.subarray(0, start + length) };
}
