/** stress learn gives back a known mix, and what it writes loads a chain as the known mix did: geth. */
import { describe, it } from 'node:test';
import { startGeth } from '../../scripts/nodes/geth.js';
import { MIXES, roundTrip } from '../helpers/round-trip.js';

describe('stress learn on geth --dev', () => {
  for (const [name, known] of Object.entries(MIXES))
    it(name, async (t) => {
      const start = async () => {
        const geth = await startGeth({ period: 1 });
        t.after(() => geth.stop());
        return { url: geth.url, env: { STRESS_FUNDER_KEY: geth.funderKey } };
      };
      await roundTrip(t, known, { threads: 40, seconds: 18, blocks: 14, start });
    });
});
