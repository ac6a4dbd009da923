/**
 * Returns what a variable of the environment says. One that is empty or not set is `undefined`, and
 * has a value for development in its place.
 * @throws {Error} it is empty or not set where `NODE_ENV` is `production`
 */
export function readVariable(name: string): string | undefined {
  const value = process.env[name]
  if (value !== undefined && value !== '') return value
  if (process.env['NODE_ENV'] !== 'production') return undefined
  throw new Error(`${name} must be set where NODE_ENV is production`)
}
