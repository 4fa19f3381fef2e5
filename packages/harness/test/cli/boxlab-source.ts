// What bin/boxlab.js does, from the sources: run with `node -C @boxlab/source`.
import { main } from '../../src/cli/main.ts'

await main(process.argv)
