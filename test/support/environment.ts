import type { Test } from 'tap'

/** Sets `NODE_ENV` until the end of a test; `undefined` removes it. */
export function setEnvironment(t: Pick<Test, 'teardown'>, value: string | undefined): void {
  const set = (environment: string | undefined): void => {
    if (environment === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = environment
  }
  const before = process.env['NODE_ENV']
  set(value)
  t.teardown(() => set(before))
}
