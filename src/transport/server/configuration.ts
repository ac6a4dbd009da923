import { createRequire } from 'node:module'
import type { Load } from 'config/lib/util.js'
import type { Logger } from '../../core/index.ts'
import { checkFactoryCall, nameFactory } from '../../core/options/configurator.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import { isObject, isPlainObject } from '../../core/value-kind.ts'
import type { ConfigurationValidator, WithSettings } from './configuration-check.ts'
import { addConfigurationCheck } from './configuration-check.ts'
import { checkFolders } from './configuration-folder.ts'

const require = createRequire(import.meta.url)

/** Options of `configuration()`. */
export interface ConfigurationOptions {
  /** Folder of the configuration files. Default: `NODE_CONFIG_DIR`, else `config`. */
  readonly directory?: string | undefined
  /**
   * Checks the settings when the application is set up: a function of Ajv, or any that throws,
   * rejects or returns `false`. An object that it returns has the settings to use. Default: nothing
   * is checked.
   */
  readonly validate?: ConfigurationValidator | undefined
}

/**
 * Sets the settings of an application from the files `default.json`, `<NODE_ENV>.json` and so on,
 * from the JSON in the variable `NODE_CONFIG`, and from the environment as
 * `custom-environment-variables.json` maps it: `createApp().configure(configuration())`. Returns them,
 * and without an application, `configuration()()`, does nothing else. Warns of a folder that is
 * missing, and of an environment that no file is for.
 * @param options options, or only the function that checks the settings
 * @throws {TypeError} an unknown option; when configured, a file or variable that can not be read, or
 *   no folder of the option's name
 * @see https://github.com/node-config/node-config/wiki/Configuration-Files
 */
export function configuration(
  options: ConfigurationOptions | ConfigurationValidator = {},
): (app?: WithSettings) => Record<string, unknown> {
  const given = typeof options === 'function' ? { validate: options } : options
  checkFactoryCall('configuration', options)
  checkConfigurationOptions(given)
  return nameFactory('configuration', (app?: WithSettings) => {
    const settings = readFiles(given.directory, app?.logger ?? console)
    if (app === undefined) return settings
    for (const [name, value] of Object.entries(settings)) app.set(name, value)
    if (hasCheck(given)) addConfigurationCheck(app, settings, given)
    return settings
  })
}

function hasCheck(
  options: ConfigurationOptions,
): options is { readonly validate: ConfigurationValidator } {
  return options.validate !== undefined
}

const RULES: OptionRules = { directory: OPTION.string, validate: OPTION.function }

function checkConfigurationOptions(options: ConfigurationOptions): void {
  // A schema of a library is an object of a class, with more in it than `validate`.
  const isSchema = !isPlainObject(options) && isObject(options)
  checkOptions('configuration()', isSchema ? { validate: options.validate } : options, RULES)
}

function readFiles(directory: string | undefined, logger: Logger): Record<string, unknown> {
  const { NODE_CONFIG_ENV, NODE_ENV = 'development' } = process.env
  // Loaded here, since many applications have no such files; configure functions can't wait.
  const { Load } = require('config/lib/util.js') as typeof import('config/lib/util.js')
  const load = Load.fromEnvironment(NODE_CONFIG_ENV ?? NODE_ENV)
  if (directory !== undefined) load.options.configDir = directory
  checkFolders(
    {
      folders: load.options.configDir ?? '',
      isOption: directory !== undefined,
      variable: NODE_CONFIG_ENV === undefined ? 'NODE_ENV' : 'NODE_CONFIG_ENV',
      environments: (NODE_CONFIG_ENV ?? NODE_ENV).split(','),
    },
    logger,
  )
  guardParser(load)
  return load.scan(readVariable()) as Record<string, unknown>
}

/** Returns the settings of the variable `NODE_CONFIG`, which win over those of the files. */
function readVariable(): { name: string; config: unknown }[] {
  const { NODE_CONFIG } = process.env
  if (NODE_CONFIG === undefined || NODE_CONFIG === '') return []
  let config: unknown
  try {
    config = JSON.parse(NODE_CONFIG)
  } catch {
    // The error of the parser would repeat a part of it, a secret perhaps.
    throw new TypeError('The variable NODE_CONFIG must be an object in JSON')
  }
  if (!isPlainObject(config))
    throw new TypeError('The variable NODE_CONFIG must be an object in JSON')
  if (hasPrototypeKey(config)) throw new TypeError('NODE_CONFIG: the key __proto__ is not allowed')
  return [{ name: '$NODE_CONFIG', config }]
}

/** A method of the package's parser that its types leave out. */
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
