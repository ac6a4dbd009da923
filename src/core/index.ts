/**
 * Applications, services, hooks, events and errors, without HTTP; runs in browsers too.
 * @module remex/core
 */

export type { AnyApplication, ServiceObserver } from './app.ts'

export type {
  ApplicationHookOptions,
  AroundHook,
  EventListener,
  Hook,
  HookOptions,
  LifecycleContext,
  LifecycleHook,
  MethodEntry,
  ServiceAddons,
  ServiceMixin,
} from './application-defaults.ts'
export { findServiceEntry, HookContext, ServiceEntry } from './application-defaults.ts'
export { Application, createApp } from './create-app.ts'
export type { DeclaredTypes, DeclaredUser, ServiceExtensions } from './declared-types.ts'
export * from './errors/index.ts'
export type { Listener } from './events/emitter.ts'
export { Emitter } from './events/emitter.ts'
export type { BusEvent, BusReceiver, EventBus } from './events/event-bus.ts'
export type { ExternalForm } from './external-form.ts'
export { addExternalForm, copyExternalForms, toExternalForm } from './external-form.ts'
export type { HookType, HttpAnswer, Logger } from './hooks/hook-context.ts'
export type { NextFunction } from './hooks/hook-map.ts'
export { noteEvent } from './hooks/method-call.ts'
export type { MethodName } from './method-arguments.ts'
export type { MethodSpec, StandardMethod } from './method-table.ts'
export { CUSTOM_METHOD, isStandardMethod, METHOD_TABLE } from './method-table.ts'
export type {
  AuthenticationPayload,
  AuthenticationRequest,
  Headers,
  Id,
  IdentifiedRecord,
  IdObject,
  NullableId,
  Page,
  Paginated,
  Params,
  Query,
  RecordId,
} from './params.ts'
export type { RecordConditions, RecordQuery } from './services/record-query.ts'
export type { RecordStream, StreamableService } from './services/record-stream.ts'
export type { FollowableService, RecordView } from './services/record-view.ts'
export { callMethod, createContext, runMethod } from './services/run-method.ts'
export { stripSlashes, toServicePath } from './services/service-input.ts'
export type {
  AnyService,
  AnyServices,
  RegisteredService,
  ServiceAt,
  ServiceInput,
} from './services/service-map.ts'
export type { ServiceOptions } from './services/service-options.ts'
export type { ConditionalOptions } from './versions/conditional.ts'
export { conditional } from './versions/conditional.ts'
export type { ExpectedVersion } from './versions/version-tag.ts'
