import { importTests } from '../../helpers/together.js';

importTests(import.meta.url);
