import { Function as ProfiledFunction, Line, Location, Profile, Sample, StringTable, ValueType } from 'pprof-format';

/**
 * A profile as a Go program serves it.
 * @param {Array<[names: string[], ns: number]>} stacks the first caller first
 * @param {{types?: Array<[string, string]>, durationMs?: number}} [options]
 */
export function profileOf(
  stacks,
  {
    types = [
      ['samples', 'count'],
      ['cpu', 'nanoseconds'],
    ],
    durationMs = 0,
  } = {},
) {
  const stringTable = new StringTable();
  const names = [...new Set(stacks.flatMap(([all]) => all))];
  const idOf = (/** @type {string} */ name) => names.indexOf(name) + 1;
  return Buffer.from(
    new Profile({
      sampleType: types.map(
        ([type, unit]) => new ValueType({ type: stringTable.dedup(type), unit: stringTable.dedup(unit) }),
      ),
      sample: stacks.map(([all, ns]) => new Sample({ locationId: [...all].reverse().map(idOf), value: [1, ns] })),
      location: names.map((name) => new Location({ id: idOf(name), line: [new Line({ functionId: idOf(name) })] })),
      function: names.map((name) => new ProfiledFunction({ id: idOf(name), name: stringTable.dedup(name) })),
      stringTable,
      durationNanos: durationMs * 1e6,
    }).encode(),
  );
}
