import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Interaction, InteractionResults, default as Provider } from 'oidc-provider'

/** Path of the pages that ask the user. */
export const PAGES = '/interaction/'

/** What a page shows, and what follows from its form. */
interface PromptPage {
  readonly fields: string
  answer(provider: Provider, asked: Interaction, form: URLSearchParams): Promise<InteractionResults>
}

/** The pages by what the provider wants to know. */
const PROMPTS: Readonly<Record<string, PromptPage>> = {
  login: {
    fields: '<label>Account <input name="account" autofocus></label>',
    answer: async (_provider, _asked, form) => ({
      login: { accountId: form.get('account') ?? '' },
    }),
  },
  consent: {
    fields: '<p>The application wants to know who you are.</p>',
    answer: async (provider, asked) => ({
      consent: { grantId: await saveGrant(provider, asked) },
    }),
  },
}

const REFUSED: InteractionResults = {
  error: 'access_denied',
  error_description: 'The user has refused.',
}

/** The provider that asks, and whom it knows. */
export interface AskingProvider {
  readonly provider: Provider
  readonly hasAccount: (name: string) => boolean
}

/** Answers a request for one of the pages: GET shows it, POST takes its form. */
export async function answerPage(
  { provider, hasAccount }: AskingProvider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const asked = await provider.interactionDetails(request, response)
  const page = PROMPTS[asked.prompt.name]
  if (page === undefined) throw new Error(`There is no page for ${asked.prompt.name}`)
  const show = (notice: string): void => {
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(toHtml(asked.prompt.name, notice + page.fields))
  }
  if (request.method !== 'POST') return show('')
  const form = await readForm(request)
  const refused = form.get('action') === 'refuse'
  const account = form.get('account')
  if (!refused && account !== null && !hasAccount(account)) {
    return show('<p role="alert">There is no account of this name.</p>')
  }
  const result = refused ? REFUSED : await page.answer(provider, asked, form)
  await provider.interactionFinished(request, response, result, {
    mergeWithLastSubmission: !refused,
  })
}

async function saveGrant(provider: Provider, { params, prompt, session, grantId }: Interaction) {
  const { missingOIDCScope = [], missingOIDCClaims = [] } = prompt.details as Missing
  const grant =
    (grantId === undefined ? undefined : await provider.Grant.find(grantId)) ??
    new provider.Grant({
      accountId: String(session?.accountId),
      clientId: String(params['client_id']),
    })
  grant.addOIDCScope(missingOIDCScope.join(' '))
  grant.addOIDCClaims([...missingOIDCClaims])
  return grant.save()
}

/** What the user has not agreed to before. */
interface Missing {
  readonly missingOIDCScope?: readonly string[]
  readonly missingOIDCClaims?: readonly string[]
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  let body = ''
  request.setEncoding('utf8').on('data', (chunk: string) => {
    body += chunk
  })
  await once(request, 'end')
  return new URLSearchParams(body)
}

function toHtml(title: string, fields: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title>
<form method="post">${fields}
<button name="action" value="accept">Continue</button>
<button name="action" value="refuse">Refuse</button>
</form></html>`
}
