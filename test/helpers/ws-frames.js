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

/** RFC 6455, section 5.2; a server does not mask. @param {Buffer} bytes @returns {{payload: Buffer, bytes: Buffer} | null} */
function firstFrame(bytes) {
  if (bytes.length < 2) return null;
  const short = bytes[1] & 0x7f;
  const head = short < 126 ? 2 : short === 126 ? 4 : 10;
  if (bytes.length < head) return null;
  const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  const end = head + length;
  return bytes.length < end ? null : { payload: bytes.subarray(head, end), bytes: bytes.subarray(0, end) };
}
