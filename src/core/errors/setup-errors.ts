import { setErrorCode } from './coded-errors.ts'

type SetupErrorClass = new (message: string, options?: ErrorOptions) => TypeError

/** Returns a class of errors about what the program did wrong, mostly at its start. External callers see none. */
/* @__NO_SIDE_EFFECTS__ */
function coded(errorCode: string): SetupErrorClass {
  class Coded extends TypeError {}
  Object.defineProperty(Coded, 'name', { value: TypeError.name })
  return setErrorCode(Coded, errorCode)
}

// The codes never change. `docs/reference/error-codes.md` explains them in this order.

/** An option of a service, a plugin or a hook has an unknown name or a wrong value. */
export const OptionError: SetupErrorClass = coded('INVALID_OPTION')

/** A setting of an authentication service is missing or has a wrong value. */
export const SettingError: SetupErrorClass = coded('INVALID_SETTING')

/** `app.use()` got something that is not a service, or a path or method that a service cannot have. */
export const RegistrationError: SetupErrorClass = coded('INVALID_REGISTRATION')

/** A hook is not a function, or is registered where it cannot work. */
export const HookError: SetupErrorClass = coded('INVALID_HOOK')

/** A schema or a resolver cannot be used. */
export const SchemaError: SetupErrorClass = coded('INVALID_SCHEMA')

/** A function got arguments or params that it does not take. */
export const ArgumentError: SetupErrorClass = coded('INVALID_ARGUMENT')

/** Something happens twice, too early or too late. */
export const OrderError: SetupErrorClass = coded('INVALID_ORDER')
