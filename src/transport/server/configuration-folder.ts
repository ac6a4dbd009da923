import { readdirSync } from 'node:fs'
import { delimiter, parse } from 'node:path'
import type { Logger } from '../../core/index.ts'
import { suggestName } from '../../core/options/name-suggestion.ts'

/** Environments that need no file of their own. */
const COMMON: readonly string[] = ['development', 'test', 'production']

/** Where the files are looked for, and for which environments. */
export interface FolderSearch {
  /** One folder, or several with the delimiter of paths between them. */
  readonly folders: string
  /** Whether the option `directory` names it, and not the environment or nobody. */
  readonly isOption: boolean
  /** The variable that names the environments. */
  readonly variable: 'NODE_CONFIG_ENV' | 'NODE_ENV'
  readonly environments: readonly string[]
}

/**
 * Warns of folders that are not there, and of environments that no file is for.
 * @throws {TypeError} the folder of the option `directory` is not there
 */
export function checkFolders(search: FolderSearch, logger: Logger): void {
  const folders = search.folders.split(delimiter).filter((folder) => folder !== '')
  const files = folders.flatMap((folder) => readFolder(folder, search, logger))
  if (files.length === 0) return
  const names = [...new Set(files.map((file) => parse(file).name))]
  for (const environment of search.environments) {
    const isKnown = names.some((name) => name === environment || name.endsWith(`-${environment}`))
    if (isKnown || COMMON.includes(environment)) continue
    const hint =
      suggestName(environment, [...names, ...COMMON]) || `, there are ${files.join(', ')}`
    logger.warn(
      { [search.variable]: environment },
      `configuration(): no file is for ${search.variable} '${environment}'${hint}`,
    )
  }
}

function readFolder(folder: string, { isOption }: FolderSearch, logger: Logger): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    const message = `configuration(): the folder '${folder}' does not exist`
    if (isOption) throw new TypeError(`${message}: correct the option 'directory'`)
    const advice = "create it, or name another by the option 'directory' or NODE_CONFIG_DIR"
    logger.warn({ folder }, `${message}, so that it has no settings: ${advice}`)
    return []
  }
}
