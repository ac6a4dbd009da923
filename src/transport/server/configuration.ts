import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, parse } from 'node:path'
import type { Load } from 'config/lib/util.js'
import { OptionError } from '../../core/errors/setup-errors.ts'
import { describeFunction } from '../../core/function-metadata.ts'
import type { LifecycleHook, Logger } from '../../core/index.ts'
import { checkFactoryCall } from '../../core/options/configurator.ts'
import { suggestName } from '../../core/options/name-suggestion.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION, withDefaults } from '../../core/options/option-check.ts'
import { isObject, isPlainObject } from '../../core/value-kind.ts'
import { askToInstall } from '../missing-package.ts'

const require = createRequire(import.meta.url)

/** Options of `configuration()`. */
export interface ConfigurationOptions {
  /** Folder of the configuration files. Default: `NODE_CONFIG_DIR`, else `config`. */
  readonly directory?: string | undefined
  /**
   * Checks the settings when the application is set up: a function of Ajv, or any that throws, rejects or returns
   * `false`. If it returns an object, that contains the settings to use. Default: no check.
   */
  readonly validate?: ConfigurationValidator | undefined
}

/**
 * Returns a function that sets the settings of an application from the files `default.json`, `<NODE_ENV>.json` and so
 * on, from the JSON in the variable `NODE_CONFIG`, and from the environment as mapped by
 * `custom-environment-variables.json`: `createApp().configure(configuration())`. The function returns the settings;
 * without an application, `configuration()()`, it does nothing else. It warns if the folder is missing, or if an
 * environment has no file. Needs the package `config`.
 * @param options options, or only the function that checks the settings
 * @throws {TypeError} an option is unknown; when configured, a file or variable cannot be read, or the folder of the
 *   option does not exist
 * @throws {Error} when configured: the package `config` is not installed
 * @see https://github.com/node-config/node-config/wiki/Configuration-Files
 */
export function configuration(
  options: ConfigurationOptions | ConfigurationValidator = {},
): (app?: WithSettings) => Record<string, unknown> {
  const given = typeof options === 'function' ? { validate: options } : options
  checkFactoryCall('configuration', options)
  // A schema of a library is an instance of a class, with members other than `validate`.
  const isSchema = !isPlainObject(given) && isObject(given)
  checkOptions('configuration()', isSchema ? { validate: given.validate } : given, RULES)
  const configure = (app?: WithSettings): Record<string, unknown> => {
    const settings = readSettings(given.directory, app?.logger ?? console)
    if (app === undefined) return settings
    for (const [name, value] of Object.entries(settings)) app.set(name, value)
    if (given.validate === undefined) return settings
    app.hooks({
      setup: async (_context, next) => {
        const checked = await check({ ...settings }, given)
        // Defaults and converted types are used, unless the application has set another value.
        for (const [name, value] of Object.entries(checked)) {
          if (app.get(name) === settings[name]) app.set(name, value)
        }
        await next()
      },
    })
    return settings
  }
  return describeFunction(configure, { configuratorFactory: 'configuration' })
}

const RULES: OptionRules = { directory: OPTION.string, validate: OPTION.function }

function readSettings(directory: string | undefined, logger: Logger): Record<string, unknown> {
  const { NODE_CONFIG_ENV, NODE_ENV = 'development' } = process.env
  const load = requireConfig().Load.fromEnvironment(NODE_CONFIG_ENV ?? NODE_ENV)
  if (directory !== undefined) load.options.configDir = directory
  const folders = (load.options.configDir ?? '').split(delimiter).filter((folder) => folder !== '')
  const files = folders.flatMap((folder) => readFolder(folder, directory !== undefined, logger))
  const variable = NODE_CONFIG_ENV === undefined ? 'NODE_ENV' : 'NODE_CONFIG_ENV'
  if (files.length > 0) checkEnvironments(variable, load.options.nodeEnv ?? [], files, logger)
  guardParser(load)
  return load.scan(readVariable()) as Record<string, unknown>
}

/**
 * Returns the module of the package that reads files again for each call, as named in its README. Its main module reads
 * them once per process, when it is loaded.
 */
function requireConfig(): typeof import('config/lib/util.js') {
  try {
    // Loaded here, since many applications have no such files, and configure functions cannot wait.
    return require('config/lib/util.js')
  } catch (error) {
    return askToInstall('configuration()', 'config')(error)
  }
}

/** Returns the settings in the variable `NODE_CONFIG`, which override those of the files. */
function readVariable(): { name: string; config: unknown }[] {
  const { NODE_CONFIG = '' } = process.env
  if (NODE_CONFIG === '') return []
  let config: unknown
  try {
    config = JSON.parse(NODE_CONFIG)
  } catch {
    // The parser's error would quote part of the text, possibly a secret.
  }
  if (!isPlainObject(config)) {
    throw new OptionError('The variable NODE_CONFIG must be an object in JSON')
  }
  if (hasPrototypeKey(config))
    throw new OptionError('NODE_CONFIG: the key __proto__ is not allowed')
  return [{ name: '$NODE_CONFIG', config }]
}

/** The package merges settings key by key, and would write `__proto__` into every object. */
function guardParser(load: Load): void {
  // Its types omit the method.
  const parser = load.parser as { parse(file: string, content: string): unknown } & Load['parser']
  const parse = (file: string, content: string): unknown => {
    const parsed = parser.parse(file, content)
    if (hasPrototypeKey(parsed)) throw new OptionError('The key __proto__ is not allowed')
    return parsed
  }
  load.parser = Object.assign({ ...parser }, { parse })
}

function hasPrototypeKey(value: unknown): boolean {
  if (!isObject(value)) return false
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(hasPrototypeKey)
}

/** The parts of an application that are used: its settings and its setup. */
interface WithSettings {
  readonly logger: Logger
  get(name: string): unknown
  set(name: string, value: unknown): unknown
  hooks(options: { setup: LifecycleHook }): unknown
}

/** Checks settings: throws, rejects or returns `false`, or returns the settings to use. */
type ConfigurationValidator = (settings: Record<string, unknown>) => unknown

/** What Ajv says of a value that does not fit. */
interface Finding {
  readonly instancePath?: string
  readonly schemaPath?: string
  readonly keyword?: string
  readonly params?: unknown
  readonly message?: string
}

/**
 * @throws {Error} the settings are invalid; its message names each place, its `data` has the findings of Ajv or the
 *   data of the thrown error, and neither contains values of the settings
 */
async function check(
  settings: Record<string, unknown>,
  options: ConfigurationOptions,
): Promise<object> {
  let returned: unknown
  try {
    returned = await options.validate?.(settings)
  } catch (error) {
    throw createError(error, { cause: error })
  }
  if (returned === false) throw createError(options.validate)
  return isObject(returned) ? returned : settings
}

/**
 * A function of Ajv keeps its findings in `errors`, as does the error of an asynchronous one; a `BadRequest` has them
 * as `data`.
 */
function createError(source: unknown, options?: ErrorOptions): Error {
  const { errors, data, message } = (source ?? {}) as Record<string, unknown>
  const isFindings = (list: unknown): list is Finding[] => Array.isArray(list) && list.length > 0
  const findings = [errors, data].find(isFindings)?.map(toFinding)
  const text = typeof message === 'string' ? message : 'the check rejected it'
  const problem = findings?.map(describeFinding).join(', ') ?? text
  const error = new Error(`The configuration is not valid: ${problem}`, options)
  const told = findings ?? data
  return told === undefined ? error : Object.assign(error, { data: told })
}

/** With the option `verbose` Ajv also records the values, possibly secrets. */
function toFinding({ instancePath, schemaPath, keyword, params, message }: Finding): Finding {
  return withDefaults<Finding>({}, { instancePath, schemaPath, keyword, params, message })
}

function describeFinding({ instancePath = '', message = 'is not valid' }: Finding): string {
  return `${instancePath} ${message}`.trim()
}

/** Environments that need no file. */
const COMMON: readonly string[] = ['development', 'test', 'production']

/** Warns of environments without a file. */
function checkEnvironments(
  variable: 'NODE_CONFIG_ENV' | 'NODE_ENV',
  environments: readonly string[],
  files: readonly string[],
  logger: Logger,
): void {
  const names = [...new Set(files.map((file) => parse(file).name))]
  for (const environment of environments) {
    const isKnown = names.some((name) => name === environment || name.endsWith(`-${environment}`))
    if (isKnown || COMMON.includes(environment)) continue
    const hint =
      suggestName(environment, [...names, ...COMMON]) || `, there are ${files.join(', ')}`
    logger.warn(
      { [variable]: environment },
      `configuration(): no file is for ${variable} '${environment}'${hint}`,
    )
  }
}

/**
 * Returns the files of a folder; warns if it does not exist.
 * @throws {TypeError} the missing folder is that of the option `directory`
 */
function readFolder(folder: string, isOption: boolean, logger: Logger): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    const message = `configuration(): the folder '${folder}' does not exist`
    if (isOption) throw new OptionError(`${message}: correct the option 'directory'`)
    const advice = "create it, or name another by the option 'directory' or NODE_CONFIG_DIR"
    logger.warn({ folder }, `${message}, so that it has no settings: ${advice}`)
    return []
  }
}
