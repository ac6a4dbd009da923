import type { GitHubEmail, GitHubUser, GrantedUser } from './github-grants.ts'
import { GitHubGrants } from './github-grants.ts'
import type { Answered, LocalServer, ReceivedRequest } from './local-server.ts'
import { startLocalServer } from './local-server.ts'

export interface GitHubServerOptions {
  readonly user?: GitHubUser
  readonly emails?: readonly GitHubEmail[]
  /** Whether a challenge counts: GitHub took no notice of it until July 2025; default `checked`. */
  readonly pkce?: 'checked' | 'ignored'
}

/** The paths that an application asks for. */
export type GitHubPath = keyof typeof ENDPOINTS

/** A provider of plain OAuth 2, of GitHub's shape, on the loopback interface. */
export interface GitHubServer extends LocalServer {
  readonly client: { readonly key: string; readonly secret: string }
  readonly urls: {
    readonly authorize_url: string
    readonly access_url: string
    readonly profile_url: string
    readonly emails_url: string
  }
  /** Who is logged in there in the browser; a token stays that of its user. */
  user: GitHubUser
  emails: readonly GitHubEmail[]
  /** What the user decides on the page of the provider; default `accept`. */
  decision: 'accept' | 'refuse'
  /** Sent as `iss` to the callback; default none. */
  iss: string | undefined
  /** From now on, one path answers this; `undefined` ends it. */
  answerWith(path: GitHubPath, answer: Answered | undefined): void
}

interface GitHubState {
  readonly grants: GitHubGrants
  readonly server: Omit<GitHubServer, keyof LocalServer | 'answerWith' | 'urls'>
}

type Endpoint = (request: ReceivedRequest, state: GitHubState) => Answered

const ENDPOINTS = {
  '/login/oauth/authorize': authorize,
  '/login/oauth/access_token': giveToken,
  '/user': (request, { grants }) => asUser(request, grants, ({ user }) => user),
  '/user/emails': (request, { grants }) => asUser(request, grants, ({ emails }) => emails),
} as const satisfies Readonly<Record<string, Endpoint>>

const OCTOCAT: GitHubUser = { id: 583231, login: 'octocat', name: 'The Octocat', email: null }

const EMAILS: readonly GitHubEmail[] = [
  { email: 'octocat@example.com', primary: true, verified: true },
  { email: 'victim@example.com', primary: false, verified: false },
]

/** Starts the provider on a free port. */
export async function startGitHubServer(options: GitHubServerOptions = {}): Promise<GitHubServer> {
  const replaced = new Map<string, Answered>()
  const client = { key: 'Iv1.0123456789abcdef', secret: 'the-secret-of-the-github-application' }
  const server = {
    client,
    user: options.user ?? OCTOCAT,
    emails: options.emails ?? EMAILS,
    decision: 'accept' as GitHubServer['decision'],
    iss: undefined as string | undefined,
  }
  const state = { server, grants: new GitHubGrants(client, options.pkce ?? 'checked') }
  const local = await startLocalServer((request) => {
    const answer = replaced.get(request.path)
    const endpoint: Endpoint | undefined = ENDPOINTS[request.path as GitHubPath]
    return answer ?? endpoint?.(request, state) ?? { status: 404, body: { message: 'Not Found' } }
  })
  const { origin } = local
  return Object.assign(server, local, {
    urls: {
      authorize_url: `${origin}/login/oauth/authorize`,
      access_url: `${origin}/login/oauth/access_token`,
      profile_url: `${origin}/user`,
      emails_url: `${origin}/user/emails`,
    },
    answerWith(path: GitHubPath, answer: Answered | undefined) {
      if (answer === undefined) replaced.delete(path)
      else replaced.set(path, answer)
    },
  })
}

function authorize({ query }: ReceivedRequest, { grants, server }: GitHubState): Answered {
  const redirectUri = query.get('redirect_uri')
  if (query.get('client_id') !== server.client.key || redirectUri === null) return { status: 404 }
  const location = new URL(redirectUri)
  const answered =
    server.decision === 'accept'
      ? { code: grants.createCode(query, { user: server.user, emails: server.emails }) }
      : {
          error: 'access_denied',
          error_description: 'The user has denied your application access.',
        }
  const values = { ...answered, state: query.get('state'), iss: server.iss }
  for (const [name, value] of Object.entries(values)) {
    if (value != null) location.searchParams.set(name, value)
  }
  return { status: 302, headers: { location: location.href } }
}

/** Errors have status 200 as well; only who asks for JSON gets it. */
function giveToken({ method, body, headers }: ReceivedRequest, { grants }: GitHubState): Answered {
  if (method !== 'POST') return { status: 404, body: { message: 'Not Found' } }
  const answer = grants.exchange(new URLSearchParams(body), headers.authorization)
  if (headers.accept?.includes('application/json')) return { body: answer }
  return {
    headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
    body: new URLSearchParams(answer).toString(),
  }
}

function asUser(
  { headers }: ReceivedRequest,
  grants: GitHubGrants,
  select: (granted: GrantedUser) => object,
): Answered {
  if (headers['user-agent'] === undefined) return { status: 403, body: 'Request forbidden' }
  const [scheme, token = ''] = headers.authorization?.split(' ') ?? []
  const granted = scheme?.toLowerCase() === 'bearer' ? grants.findByToken(token) : undefined
  if (granted === undefined) return { status: 401, body: { message: 'Bad credentials' } }
  return { body: select(granted) }
}
