/** stress learn gives back a known mix, and what it writes loads a chain as the known mix did: anvil. */
import { describe, it } from 'node:test';
import { startAnvil } from '../helpers/anvil.js';
import { MIXES, roundTrip } from '../helpers/round-trip.js';

describe('stress learn on anvil', () => {
  for (const [name, known] of Object.entries(MIXES))
    it(name, async (t) => {
      const start = async () => {
        const anvil = await startAnvil({ args: ['-b', '0.2', '--accounts', '1'] });
        t.after(anvil.stop);
        return anvil;
      };
      await roundTrip(t, known, { threads: 20, seconds: 8, blocks: 35, start });
    });
});
