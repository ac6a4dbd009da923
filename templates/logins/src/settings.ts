import { existsSync } from 'node:fs'
import { StartError } from 'remex'

/**
 * Returns the settings from the environment and from `.env`. No other file reads `process.env`.
 * @throws {StartError} a variable is missing in production
 */
export function readSettings() {
  if (existsSync('.env')) process.loadEnvFile()
  // `npm run dev` passes `--dev`. The developer page is only served in development.
  const isDevelopment = process.argv.includes('--dev')
  if (isDevelopment) process.env.NODE_ENV ||= 'development'
  return {
    port: process.env.PORT || '3030',
    host: process.env.HOST || '127.0.0.1',
    mongodbUrl: readVariable('MONGODB_URL'),
    secret: readVariable('AUTH_SECRET'),
    // Readable lines in development, JSON elsewhere.
    logger: isDevelopment ? { transport: READABLE } : true,
  }
}

/** Returns a variable that only production requires, `undefined` if it is not set. */
function readVariable(name: string): string | undefined {
  const value = process.env[name] || undefined
  if (value === undefined && process.env.NODE_ENV === 'production') {
    throw new StartError(`${name} is not set: production requires it, see .env.example`)
  }
  return value
}

const READABLE = {
  target: 'pino-pretty',
  options: {
    ignore: 'pid,hostname,reqId,req,statusCode,ms',
    messageFormat: '{msg}{if statusCode} {req.method} {req.url} {statusCode} in {ms} ms{end}',
    singleLine: true,
    translateTime: 'HH:MM:ss',
  },
}
