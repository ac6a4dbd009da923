import t from 'tap'
import { socketio } from '../../../src/transport/socketio/index.ts'

t.test('unknown and invalid options throw', async (t) => {
  const rows: readonly [object, RegExp][] = [
    [{ maxCall: 1 }, /unknown option 'maxCall'.*maxCalls/],
    [{ maxCalls: 0 }, /'maxCalls' must be a whole number from 1 on/],
    [{ maxWaitingBytes: 1.5 }, /'maxWaitingBytes' must be a whole number from 1 on/],
    [{ checkReads: 'yes' }, /'checkReads' must be true or false/],
    [
      { bus: { publish: () => undefined } },
      /'bus' must be an EventBus, as mongoEvents\(\) returns it/,
    ],
    [{ connectionStateRecovery: {} }, /'connectionStateRecovery' must be left out/],
  ]
  for (const [options, message] of rows) {
    t.throws(() => socketio(options), { name: 'TypeError', message }, JSON.stringify(options))
  }
  t.throws(() => socketio(null as never), /must be an object, not null/)
  for (const port of [-1, 1.5, 65_536, Number.NaN]) {
    t.throws(() => socketio(port), { name: 'TypeError', message: /from 0 to 65535/ })
  }
  t.doesNotThrow(() => socketio({ cors: { origin: '*' }, path: '/ws', maxCalls: 1 }))
})
