import type { BusEvent, BusReceiver, EventBus } from '../core/events/event-bus.ts'
import type { Application, HookContext } from '../core/index.ts'
import type { OptionRule } from '../core/options/option-check.ts'
import { hasMethod, isObject } from '../core/value-kind.ts'

const BUS_METHODS = ['open', 'publish', 'check', 'close']

/** The rule of options that take a bus. */
export const BUS_RULE: OptionRule = {
  expected: 'an EventBus, as mongoEvents() returns it',
  isValid: (value: unknown) =>
    value === null || (isObject(value) && BUS_METHODS.every((name) => hasMethod(value, name))),
}

/** The key of an application's buses. */
const BUSES: unique symbol = Symbol('remex.eventBuses')

type Buses = Map<EventBus, SharedReceiver>

/** Passes events that arrive on a bus to all features that use it. Each ignores the events of the others. */
class SharedReceiver implements BusReceiver {
  readonly all: Partial<BusReceiver>[] = []

  receive(event: BusEvent, position: string, storedAt?: number): void {
    for (const one of this.all) one.receive?.(event, position, storedAt)
  }

  confirm(path: string, position: string, storedAt: number): void {
    for (const one of this.all) one.confirm?.(path, position, storedAt)
  }

  lose(): void {
    for (const one of this.all) one.lose?.()
  }

  async describe(context: HookContext): Promise<readonly BusEvent[]> {
    const events = await Promise.all(this.all.map((one) => one.describe?.(context) ?? []))
    return events.flat()
  }
}

/**
 * Passes events that arrive on a bus to a feature. The bus opens with the setup of the services, and closes with their
 * teardown.
 */
export function followBus(app: Application, bus: EventBus, receiver: Partial<BusReceiver>): void {
  const { [BUSES]: known } = app as { [BUSES]?: Buses }
  const buses = known ?? new Map<EventBus, SharedReceiver>()
  if (known === undefined) {
    Object.defineProperty(app, BUSES, { value: buses })
    followLifecycle(app, buses)
  }
  const shared = buses.get(bus) ?? new SharedReceiver()
  buses.set(bus, shared)
  shared.all.push(receiver)
}

function followLifecycle(app: Application, buses: Buses): void {
  app.hooks({
    setup: async (_context: unknown, next: () => Promise<void>) => {
      await next()
      for (const [bus, receiver] of buses) await bus.open(receiver)
      app.readiness.set('events', () => Promise.all([...buses.keys()].map((bus) => bus.check())))
    },
    teardown: async (_context: unknown, next: () => Promise<void>) => {
      app.readiness.delete('events')
      try {
        await Promise.all([...buses.keys()].map((bus) => bus.close()))
      } finally {
        await next()
      }
    },
  })
}
