import t from 'tap'
import { SecretFilter } from '../../../../src/auth/oauth/provider/provider-session.ts'

t.test('cuts secrets out of a text, as they are and as a form has them', async (t) => {
  const filter = new SecretFilter()
  filter.add('a+b c', 'long', 'longer', '$^.*[x]|(y)/-\\')
  t.equal(filter.cut('the secret a+b c is wrong'), 'the secret [secret] is wrong')
  t.equal(filter.cut('code=a%2Bb+c&d'), 'code=[secret]&d')
  t.equal(filter.cut('longer, long'), '[secret], [secret]')
  t.equal(filter.cut('$^.*[x]|(y)/-\\!'), '[secret]!')
  t.equal(filter.cut('nothing of it'), 'nothing of it')
})

t.test('adds strings only, and leaves a text as it is without any', async (t) => {
  const filter = new SecretFilter()
  filter.add(undefined, null, '', 1, {})
  t.equal(filter.cut('undefined null 1'), 'undefined null 1')
})
