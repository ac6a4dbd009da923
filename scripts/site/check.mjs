// Checks the built site, which is in `build-site`: `npm run check:site`, after `npm run docs`.
import { checkLayout } from './check-layout.mjs'
import { checkSearch } from './check-search.mjs'

const faults = [...(await checkSearch()), ...(await checkLayout())]
for (const fault of faults) console.error(fault)
console.log(faults.length === 0 ? 'The site is as it should be' : `${faults.length} faults`)
process.exitCode = faults.length === 0 ? 0 : 1
