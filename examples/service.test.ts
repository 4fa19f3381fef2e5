import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { useBox, Wait } from '@boxlab/harness/vitest'

const box = useBox({ name: 'web server', timeouts: { bootMs: 60_000 } })

test('the page is there when the port answers and the file was written', async ({ signal }) => {
  await box.shell('mkdir -p /srv && (sleep 0.2; echo hello > /srv/index.html; httpd -p 8080 -h /srv) &')
  await box.waitFor(Wait.forAll([Wait.forPort(8080), Wait.forFile('/srv/index.html')]), { timeoutMs: 5000, signal })
  const connection = await box.dial(8080)
  connection.end('GET / HTTP/1.0\r\n\r\n')
  expect(await text(connection)).toMatch(/^HTTP\/1\.[01] 200 OK[^]*hello/)
})
