// The questions of the provider: who the user is, and whether an application may know it.
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Interaction, InteractionResults, default as Provider } from 'oidc-provider'
import { escapeHtml, PAGE_HEADERS, renderPage } from './page.ts'

/** The path of the pages, followed by the id of the question. */
export const PROMPTS_PATH = '/ask/'

/** The provider. */
export interface Asking {
  readonly provider: Provider
  readonly name: string
  readonly people: Readonly<Record<string, { readonly name: string }>>
}

/** Shows a page, or handles its form. */
export async function answerPrompt(
  asking: Asking,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { provider } = asking
  const asked = await provider.interactionDetails(request, response)
  if (request.method !== 'POST') {
    response.writeHead(200, PAGE_HEADERS).end(renderPrompt(asking, asked))
    return
  }
  const pressed = (await readForm(request)).get('answer') ?? ''
  const result = await toResult(asking, asked, pressed)
  await provider.interactionFinished(request, response, result, {
    mergeWithLastSubmission: result.error === undefined,
  })
}

async function toResult(
  { provider, people }: Asking,
  asked: Interaction,
  pressed: string,
): Promise<InteractionResults> {
  if (asked.prompt.name === 'login' && Object.hasOwn(people, pressed)) {
    return { login: { accountId: pressed } }
  }
  if (asked.prompt.name === 'consent' && pressed === 'allow') {
    return { consent: { grantId: await saveGrant(provider, asked) } }
  }
  return { error: 'access_denied', error_description: 'The user did not agree' }
}

async function saveGrant(provider: Provider, { params, prompt, session, grantId }: Interaction) {
  const known = grantId === undefined ? undefined : await provider.Grant.find(grantId)
  const grant =
    known ??
    new provider.Grant({
      accountId: String(session?.accountId),
      clientId: String(params['client_id']),
    })
  const { missingOIDCScope = [] } = prompt.details as { missingOIDCScope?: string[] }
  grant.addOIDCScope(missingOIDCScope.join(' '))
  return grant.save()
}

function renderPrompt({ name, people }: Asking, asked: Interaction): string {
  const isLogin = asked.prompt.name === 'login'
  const choices = isLogin
    ? Object.entries(people).map(([id, person]) => [id, `I am ${person.name}`])
    : [['allow', 'Allow']]
  const buttons = choices.map(([value = '', label = '']) => renderButton(value, label, ''))
  const refuse = renderButton('refuse', isLogin ? 'Cancel' : 'Refuse', 'plain')
  const text = isLogin
    ? 'This is the provider, with its own people. It asks for no password.'
    : 'The Remex example wants to know your name and your email.'
  const title = isLogin ? `Log in to ${name}` : `${name} asks you`
  const form = `<form method="post">${buttons.join('\n')}\n${refuse}</form>`
  return renderPage(title, `<p>${text}</p>\n${form}`)
}

function renderButton(value: string, label: string, look: string): string {
  return `<button class="${look}" name="answer" value="${escapeHtml(value)}">${escapeHtml(label)}</button>`
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  let body = ''
  request.setEncoding('utf8').on('data', (chunk: string) => {
    body += chunk
  })
  await once(request, 'end')
  return new URLSearchParams(body)
}
