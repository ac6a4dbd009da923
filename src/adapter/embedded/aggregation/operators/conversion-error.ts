import { CommandError } from '../../errors/command-error.ts'
import { typeNameOf } from '../../values/type-names.ts'

/** Returns the error of a value that cannot be converted. */
export function conversionFailed(value: unknown, type: string): CommandError {
  const what = typeof value === 'string' ? `'${value}'` : `a value of type ${typeNameOf(value)}`
  return new CommandError(
    241,
    `Failed to convert ${what} to ${type} in $convert with no onError value`,
  )
}
