/**
 * Returns an environment variable. If it is empty or not set, returns `undefined`, so that the caller
 * can use a value for development.
 * @throws {Error} it is empty or not set, and `NODE_ENV` is `production`
 */
export function readVariable(name: string): string | undefined {
  const value = process.env[name]
  if (value !== undefined && value !== '') return value
  if (process.env['NODE_ENV'] !== 'production') return undefined
  throw new Error(`${name} must be set where NODE_ENV is production`)
}
