/** Whether `NODE_ENV` is `development`. Without `NODE_ENV` it is not. */
export function isDevelopment(): boolean {
  return readNodeEnv() === 'development'
}

/** Whether `NODE_ENV` is `production`. Without `NODE_ENV` it is not. */
export function isProduction(): boolean {
  return readNodeEnv() === 'production'
}

function readNodeEnv(): string | undefined {
  // Browsers have no `process`.
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } }
  return process?.env?.['NODE_ENV']
}
