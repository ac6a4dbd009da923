import { SOCKET_CLIENT } from './clients.ts'

const OF_HANDSHAKE = 'headers are those of the handshake, and a message has none'
const NO_PROXY = 'there is no answer of HTTP that something else than a service gives'
const WAITS = 'calls of the client wait until its socket is connected'

/** The cases that are not run with a client, by their titles, with the reasons. */
export const SKIPPED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  [SOCKET_CLIENT]: {
    'lists have indexes, and brackets are percent-encoded': 'there is no query string',
    'JSON is asked for, and named where it is sent': OF_HANDSHAKE,
    'those of a call arrive': OF_HANDSHAKE,
    'those of a call win over those of the connection': OF_HANDSHAKE,
    'the type of the body wins over options, and params win over it': OF_HANDSHAKE,
    'options may ask for another type': OF_HANDSHAKE,
    'a name is the same in lower case': OF_HANDSHAKE,
    'those of params.connection are added, and win': OF_HANDSHAKE,
    'what no service answers is an error: empty': NO_PROXY,
    'what no service answers is an error: text': NO_PROXY,
    'what no service answers is an error: part': NO_PROXY,
    'what no service answers is an error: unknown-name': NO_PROXY,
    'what no service answers is an error: page': NO_PROXY,
    'what no service answers is an error: teapot': NO_PROXY,
    'a connection that is refused is an error that can be sent on as well': WAITS,
    'a token stays while the server is out of reach': WAITS,
    'services are reached without an application': 'its services are made of other settings',
    'several servers can be behind one application': 'the other server of the case is one of HTTP',
    'takes the class of the services as the second argument or the third': 'it takes no class',
    'the header of a call wins, and its refusal ends no login': OF_HANDSHAKE,
    'a token whose user is gone is refused': 'the connection ends with its user',
  },
}
