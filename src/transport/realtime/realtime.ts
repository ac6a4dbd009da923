import { ArgumentError, OrderError } from '../../core/errors/setup-errors.ts'
import type { AnyApplication, Application } from '../../core/index.ts'
import { createConfigurator } from '../../core/options/configurator.ts'
import { findStreams, setStreams } from '../finds/request-streams.ts'
import { addScopePart } from '../scope-parts.ts'
import { EventHub } from './event-hub.ts'
import type { RealtimeOptions } from './realtime-options.ts'
import { resolveRealtimeOptions } from './realtime-options.ts'
import { sharedStreams } from './shared-stream.ts'

/**
 * Returns a function for `app.configure()` that adds live queries: `GET /tasks?team=7` with `Accept: text/event-stream`
 * returns a stream with the result of `find`, then each change of the matching records.
 * @throws {TypeError} an option is unknown or invalid; when configured, a second time
 */
export function realtime(options: RealtimeOptions = {}): (app: AnyApplication) => void {
  const configure = createConfigurator('realtime', options, (app: AnyApplication) => {
    if (app.support === undefined) {
      throw new ArgumentError(
        'realtime() of remex/realtime is for servers: a client takes that of remex/client/realtime',
      )
    }
    if (findStreams(app) !== null) {
      throw new OrderError('realtime(): the application has realtime() already')
    }
    const resolved = resolveRealtimeOptions(options)
    setStreams(app, new EventHub(app as unknown as Application, resolved))
    addScopePart(app, sharedStreams(resolved))
    // Transports decide when a method is compiled whether it has streams, so methods are compiled again.
    for (const entry of app.entries.values()) entry.compile()
  })
  resolveRealtimeOptions(options)
  return configure
}
