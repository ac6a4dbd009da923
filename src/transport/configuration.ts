import { createRequire } from 'node:module'
import type { Load } from 'config/lib/util.js'

const require = createRequire(import.meta.url)

/** Options of `configuration()`. */
export interface ConfigurationOptions {
  /** Folder of the configuration files. Default: `NODE_CONFIG_DIR`, else `config`. */
  readonly directory?: string
}

/** Anything that holds settings: an application. */
interface WithSettings {
  set(name: string, value: unknown): unknown
}

/**
 * Sets the settings of an application from the files `default.json`, `<NODE_ENV>.json` and so on,
 * and from the environment as `custom-environment-variables.json` maps it:
 * `createApp().configure(configuration())`.
 * @see https://github.com/node-config/node-config/wiki/Configuration-Files
 */
export function configuration(options: ConfigurationOptions = {}): (app: WithSettings) => void {
  return (app) => {
    const { NODE_CONFIG_ENV, NODE_ENV = 'development' } = process.env
    // Loaded here, since many applications have no such files; configure functions can't wait.
    const { Load } = require('config/lib/util.js') as typeof import('config/lib/util.js')
    const load = Load.fromEnvironment(NODE_CONFIG_ENV ?? NODE_ENV)
    if (options.directory !== undefined) load.options.configDir = options.directory
    guardParser(load)
    for (const [name, value] of Object.entries(load.scan([]))) app.set(name, value)
  }
}

/** What the parser of the package has and its types leave out. */
interface FileParser {
  parse(file: string, content: string): unknown
}

/** The package merges what it reads key by key, and would write `__proto__` into every object. */
function guardParser(load: Load): void {
  const parser = load.parser as (typeof load.parser & FileParser) | undefined
  if (parser === undefined) return
  const parse: FileParser['parse'] = (file, content) => {
    const parsed = parser.parse(file, content)
    if (hasPrototypeKey(parsed)) throw new TypeError('The key __proto__ is not allowed')
    return parsed
  }
  load.parser = Object.assign({ ...parser }, { parse })
}

function hasPrototypeKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(hasPrototypeKey)
}
