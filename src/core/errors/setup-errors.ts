import type { SetupErrorClass } from './coded-errors.ts'
import { coded } from './coded-errors.ts'

// What the program did wrong, mostly at its start. External callers never see such errors.
// The codes never change. `docs/reference/error-codes.md` explains them in this order.

/** An option of a service, a plugin or a hook has an unknown name or a wrong value. */
export const OptionError: SetupErrorClass = coded(TypeError, 'INVALID_OPTION')

/** A setting of an authentication service is missing or has a wrong value. */
export const SettingError: SetupErrorClass = coded(TypeError, 'INVALID_SETTING')

/** `app.use()` got something that is not a service, or a path or method that a service cannot have. */
export const RegistrationError: SetupErrorClass = coded(TypeError, 'INVALID_REGISTRATION')

/** A hook is not a function, or is registered where it cannot work. */
export const HookError: SetupErrorClass = coded(TypeError, 'INVALID_HOOK')

/** A schema or a resolver cannot be used. */
export const SchemaError: SetupErrorClass = coded(TypeError, 'INVALID_SCHEMA')

/** A function got arguments or params that it does not take. */
export const ArgumentError: SetupErrorClass = coded(TypeError, 'INVALID_ARGUMENT')

/** Something happens twice, too early or too late. */
export const OrderError: SetupErrorClass = coded(TypeError, 'INVALID_ORDER')
