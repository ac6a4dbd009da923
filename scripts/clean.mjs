// Removes the named output folders, so that no stale file outlives its source.
import { rmSync } from 'node:fs'

for (const folder of process.argv.slice(2)) rmSync(folder, { recursive: true, force: true })
