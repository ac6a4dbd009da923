import { Load } from 'config/lib/util.js'

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
    const load = Load.fromEnvironment(NODE_CONFIG_ENV ?? NODE_ENV)
    if (options.directory !== undefined) load.options.configDir = options.directory
    for (const [name, value] of Object.entries(load.scan([]))) app.set(name, value)
  }
}
