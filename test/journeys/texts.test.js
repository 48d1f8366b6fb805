/** The half of the golden texts that needs no chain is a part of `npm test`. */
import '../golden/texts.test.js';
