/** What `darkroom simulate --help` prints. */
export const SIMULATE_HELP = `darkroom simulate: providers on this machine, for trying out and for tests

  --only NAME              start this one only, by its provider's name; repeatable
  --port N                 first port, the next simulator takes N + 1 (default 0: free ports)
  --api-key KEY            accepted API key, repeatable (default SIM_<NAME>_API_KEY, else sim-key)
  --webhook-secret S       signing secret, repeatable (default SIM_<NAME>_WEBHOOK_SECRET, else whsec_c2ltdWxhdG9yIHNlY3JldA==);
                           a provider that signs with a key pair makes it from this text
  SIM_<NAME>_PUBLIC_URL    (environment) how its links name it, where it stands behind a proxy; by default its own address
  --render-ms N            how long a render takes (default 2000)
  --output-ttl-ms N        how long an output lives (default: as long as at the provider)
  --exit-with-parent       end when the process that started it is gone
  --help

Listens on 127.0.0.1 only. Prints one JSON line per simulator when it is ready: {"name":"infro","url":"http://…"}.

Control (in no real provider)
  GET  /_sim/journal[?prompt=TEXT]  totals, accepted jobs (submits, observes, cancels, downloads, renders_done,
                                    stopped, callbacks with answers, the input file as it was read from its link or
                                    inline: Kling and Runway), newest requests; TEXT keeps those whose prompt has it
  GET  /_sim/faults                 faults in force and how often each struck
  POST /_sim/faults                 one fault or a list; adds to those in force
  POST /_sim/reset                  forgets jobs, keys, faults, journal and rotated secrets
  POST /_sim/jobs/{id}              {status?: queued|running|succeeded|failed|moderated|cancelled, output?:
                                    link|empty|null, error_code?, expires_at? (unix s)}; an end state also sends its
                                    callback
  POST /_sim/secrets                {secrets: [...]}: all of these sign from now on
  POST /_sim/callback               {job_id, url?, type?, event_id?, body?, secrets?, headers?, time_offset_seconds?,
                                    times?, concurrently?, delay_ms?}: sends it now, answers with what came back;
                                    type: what names the state in this provider's callbacks

Faults: {"kind": KIND, "match": {"prompt": "TEXT"}, "times": N, …}. Without match: every job. Without times: always.
The first one in the list that fits strikes.
  submit    slow_submit {ms}            accepted at once, answered late; the key is in progress meanwhile
            reset_before_accept         connection cut, nothing accepted
            reset_after_accept          accepted, connection cut, replays too
            answer_lost_then_ok         accepted, connection cut, a replay is answered
            status_429 {retry_after?}   status_5xx {status?}   html {status?}   nothing accepted
            refuse {status?, type?, code?}                    a 4xx of your choice, nothing accepted
            refuse_content   error_in_200                     nothing accepted
            status_5xx_after_accept {status?}   missing_id    accepted
  render    render_ms {ms}   stuck (never ends)   fail {code?}   moderated
            succeeded_without_output {output?: empty|null}
  observe   observe_5xx {status?}   observe_404   observe_hang   observe_error_in_200   unknown_status {status}
  cancel    cancel_5xx {status?}   cancel_succeeded (it was done before the cancel came)
  link      link_404   link_html   link_truncated   link_empty   link_wrong_type   link_huge {bytes?}
            link_slow {ms?} (per tenth of the file)   link_redirect_private {url?}
  callback  no_callbacks   callback_twice   callback_twenty (at once)   callback_late {ms}
            callback_reordered          after the last event comes an earlier one
            callback_rotated {secrets}  signed with these instead of the active ones
            callback_before_answer      rendered at once, the 202 waits for the callback's answer
            callback_forged             at acceptance a success signed with a wrong secret, or, where nothing is
                                        signed, sent to the URL with a wrong end; the true one follows
`;
