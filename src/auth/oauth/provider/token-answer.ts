import { isNonEmptyString, isObject } from '../../../core/value-kind.ts'

/** How answers are called that are no JSON, but a form: those of older servers. */
const FORM = /^(?:application\/x-www-form-urlencoded|text\/plain)\b/i

/**
 * Returns the answer of the token endpoint of a provider without OpenID as the standard has it: JSON
 * with a type of token, and status 200. What stands for nothing is left out, and so is an id token,
 * which nobody asks for and nobody verifies. Answers without a token keep their status and fields.
 * @see RFC 6749 §5.1
 */
export async function normalizeTokenAnswer(response: Response): Promise<Response> {
  const { status, ok, headers } = response
  const text = await response.text()
  const fields = parseFields(text, headers.get('content-type') ?? '')
  if (fields === null) return new Response(text === '' ? null : text, { status, headers })
  const hasToken = ok && isNonEmptyString(fields['access_token'])
  const answer = hasToken ? { token_type: 'bearer', ...withoutExtras(fields) } : fields
  return Response.json(answer, { status: hasToken ? 200 : status, headers: copyChallenge(headers) })
}

function parseFields(text: string, type: string): Record<string, unknown> | null {
  try {
    const parsed: unknown = JSON.parse(text)
    return isObject(parsed) && !Array.isArray(parsed) ? { ...parsed } : null
  } catch {
    // No JSON: it is a form, or nothing of use.
    const form = new URLSearchParams(FORM.test(type) ? text : '')
    return form.has('access_token') || form.has('error') ? Object.fromEntries(form) : null
  }
}

function withoutExtras({ id_token: _unverified, scope, ...fields }: Record<string, unknown>) {
  const others = Object.entries(fields).filter(([, value]) => value !== null)
  const scopes = Array.isArray(scope) ? scope.join(' ') : scope
  return { ...Object.fromEntries(others), ...(isNonEmptyString(scopes) ? { scope: scopes } : {}) }
}

/** The library reads why a client was refused from there. */
function copyChallenge(headers: Headers): Headers {
  const challenge = headers.get('www-authenticate')
  return new Headers(challenge === null ? {} : { 'www-authenticate': challenge })
}
