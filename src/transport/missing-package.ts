import { StartError } from './server/start-error.ts'

const LIST = new Intl.ListFormat('en')

/**
 * Returns a handler for the error of an import: it rejects with an error that contains the command to install missing
 * packages. Applications install them only for the feature that uses them.
 * @param feature begins the error: `serveStatic()`
 */
export function askToInstall(
  feature: string,
  ...packages: readonly [string, ...string[]]
): (error: unknown) => never {
  return (error) => {
    if (!isMissing(error)) throw error
    const names = LIST.format(packages.map((name) => `'${name}'`))
    const noun = packages.length === 1 ? 'the package' : 'the packages'
    const command = `npm install ${packages.join(' ')}`
    throw new StartError(`${feature} needs ${noun} ${names}: ${command}`, { cause: error })
  }
}

function isMissing(error: unknown): boolean {
  const { code } = (error ?? {}) as NodeJS.ErrnoException
  return code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
}
