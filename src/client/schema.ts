// Made by "npm run client:types" from the API document; not edited by hand.
export interface paths {
    "/v1/generations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List generations
         * @description Newest first. Pages stay stable while new generations come in, also for equal times.
         */
        get: operations["listGenerations"];
        put?: never;
        /**
         * Create a generation
         * @description Holds its price in credits and takes the job; the work goes on in the background. Poll `poll_url` for its state. A file that the input names by its URL is fetched before the answer, which takes up to 15 seconds more; a repeated request fetches nothing. A refused call (400, 402, 403, 404, 409 but `idempotency_key_in_progress`, 422 `input_unusable`, 429, 503) leaves the Idempotency-Key free.
         */
        post: operations["createGeneration"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/generations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a generation
         * @description With `Prefer: wait=N` the answer is held back up to N seconds, until the generation changes (compared with If-None-Match when sent). When too many callers wait already, the answer comes at once, without Preference-Applied.
         */
        get: operations["getGeneration"];
        put?: never;
        post?: never;
        /**
         * Cancel a generation (same as POST …/cancel)
         * @description Before any provider can have the job it is cancelled at once and all credits are released (200). After that the provider is asked, and its answer decides (202): see `cancellation.outcome`.
         */
        delete: operations["deleteGeneration"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/generations/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow a generation
         * @description Server-sent events: `created`, `stage`, `progress`, `cancellation` and, last of all, `terminal`, after which the stream ends. `id` is the number of the event within the generation. All come from the first on, or what follows `Last-Event-ID`, so that a client that connects again misses none and gets none twice. If that number is not ours, or its events are kept no longer, it first gets a `snapshot`, which stands for all up to its `id`. A stream that ends without `terminal` was cut: connect again. A comment comes after 15 s without an event. Closing it cancels nothing. In a page: `new EventSource(url)`, with `?watch_token=` in the URL.
         */
        get: operations["followGeneration"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/generations/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a generation
         * @description Before any provider can have the job it is cancelled at once and all credits are released (200). After that the provider is asked, and its answer decides (202): see `cancellation.outcome`.
         */
        post: operations["cancelGeneration"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/generations/{id}/outputs/{n}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download an output
         * @description Sends you on to a fresh signed link. Whoever has that link can read the file until its time, so hand out the link, never your key.
         */
        get: operations["getOutput"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/generations/{id}/outputs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete the outputs of a generation
         * @description All links to them stop working at once and `delivery` becomes `expired`; the files are removed soon after. The generation stays readable, and its credits stay as they are. Repeating it changes nothing.
         */
        delete: operations["deleteOutputs"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/generations/{id}/input": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Erase what a generation was asked for
         * @description Takes prompt and input out of everything that is kept here, for good; `input` is empty from then on, also in a replay of the first answer. Input files that no other generation uses are deleted. State, credits and outputs stay. Repeating it changes nothing.
         */
        delete: operations["eraseInput"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inputs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Upload an input
         * @description Takes an image, video or sound to work from; use the `id` of the answer in place of a URL, for example as `image_url`. The body is the file itself (no form, no base64), and its kind is told by its bytes, whatever Content-Type says. Taken: image/png, image/jpeg, image/webp, image/gif, video/mp4, video/webm, audio/wav, audio/mpeg; at most 64 MiB; images of 16 to 8192 pixels a side, at most 40 megapixels. The file is kept as long as outputs are, and longer while a generation works from it. The same key with the same bytes gives the same input; with other bytes it is 422 `idempotency_key_reuse`.
         */
        post: operations["uploadInput"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/inputs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an input
         * @description What an uploaded file was found to be. The file itself is not given out again.
         */
        get: operations["getInput"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List models
         * @description Every model with the schema of its input and its price as a rule that you can compute with.
         */
        get: operations["listModels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/quotes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Price a generation
         * @description Takes the body of a generation, checks it alike and says what it would cost. Starts and holds nothing, so it needs no Idempotency-Key. Send `credits` as `max_credits` of the generation, so that it is never dearer.
         */
        post: operations["createQuote"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/credits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the balance of the default account
         * @description Whole credits.
         */
        get: operations["getCredits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{account}/credits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the balance of an account
         * @description Whole credits.
         */
        get: operations["getAccountCredits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/credits/entries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what happened to the credits of the default account
         * @description Newest first. The sums of `available` and `held` over all entries are the balance. Pages stay stable while new entries come in.
         */
        get: operations["listEntries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{account}/entries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what happened to the credits of an account
         * @description Newest first. The sums of `available` and `held` over all entries are the balance. Pages stay stable while new entries come in.
         */
        get: operations["listAccountEntries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/credits/grants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Grant credits to the default account
         * @description Once for each Idempotency-Key of your tenant, whatever the account: send the same request again until you have the answer. An account begins with its first grant.
         */
        post: operations["createGrant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/accounts/{account}/grants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Grant credits to an account
         * @description Once for each Idempotency-Key of your tenant, whatever the account: send the same request again until you have the answer. An account begins with its first grant.
         */
        post: operations["createAccountGrant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook-endpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List webhook endpoints
         * @description All of them on one page, newest first.
         */
        get: operations["listWebhookEndpoints"];
        put?: never;
        /**
         * Create a webhook endpoint
         * @description From now on the events of its types are posted there, signed as Standard Webhooks 1.0.0. Its secret is in this answer only; a replay of the same key gives the endpoint without it: rotate the secret if you have lost it.
         */
        post: operations["createWebhookEndpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook-endpoints/{endpoint}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a webhook endpoint */
        get: operations["getWebhookEndpoint"];
        put?: never;
        post?: never;
        /**
         * Delete a webhook endpoint
         * @description Nothing more is sent there. Its deliveries stay readable; those that wait are cancelled.
         */
        delete: operations["deleteWebhookEndpoint"];
        options?: never;
        head?: never;
        /**
         * Change, disable or enable a webhook endpoint
         * @description Only what is sent changes; the secret stays.
         */
        patch: operations["changeWebhookEndpoint"];
        trace?: never;
    };
    "/v1/webhook-endpoints/{endpoint}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give an endpoint a new secret
         * @description Messages are signed with the new secret and, for the overlap, with those before, so that no receiver fails meanwhile. If the answer was lost, rotate again.
         */
        post: operations["rotateWebhookEndpointSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook-endpoints/{endpoint}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a test to an endpoint
         * @description A `webhook.test` event, signed and tried as any other; read the delivery for what came of it.
         */
        post: operations["testWebhookEndpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook-endpoints/{endpoint}/redeliver": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send again what an endpoint missed since a time
         * @description Oldest first, each under its old `webhook-id`, with the whole schedule again.
         */
        post: operations["redeliverSince"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook-secret/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create or renew the secret for callback_url
         * @description What is sent to the `callback_url` of a generation is signed with it. The first call creates it; later ones replace it, and for the overlap those before sign as well.
         */
        post: operations["rotateWebhookSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook-deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List webhook deliveries
         * @description Newest first. Kept for 30 days. Pages stay stable while new deliveries come in.
         */
        get: operations["listWebhookDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook-deliveries/{delivery}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a webhook delivery with its attempts */
        get: operations["getWebhookDelivery"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhook-deliveries/{delivery}/redeliver": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a delivery again
         * @description Whatever became of it, with the whole schedule again; the `webhook-id` stays.
         */
        post: operations["redeliverWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Generation: {
            /**
             * @description Never changes; sorts by creation.
             * @example gen_06f1m4k2h8v7x9q3w5y1z0a2b4
             */
            id: string;
            /**
             * @description Always `generation`.
             * @constant
             */
            object: "generation";
            /** @description The credit account that pays. */
            account: string;
            /**
             * @description Branch on this. Only forward; the last four are final.
             * @enum {string}
             */
            state: "queued" | "running" | "succeeded" | "failed" | "cancelled" | "expired";
            /**
             * @description Where it is inside its state.
             * @enum {string}
             */
            stage: "queued" | "submitting" | "submission_unknown" | "waiting" | "storing" | "settling" | "needs_operator" | "done";
            /** @description As the provider tells it, never backwards; null when it tells none. */
            progress: number | null;
            /** @description Id of the model. */
            model: string;
            /** @description The provider that the request named; null when it named none. */
            provider: string | null;
            /** @description As asked for, with its defaults. */
            input: {
                [key: string]: unknown;
            };
            /** @description Your own labels, as sent. */
            metadata: {
                [key: string]: unknown;
            };
            /** @description What it costs, in whole credits. */
            credits: {
                /** @description Set aside while it runs; 0 when it has ended. */
                held: number;
                /** @description Charged for what was stored. */
                captured: number;
                /** @description Given back at the end because it was not needed. */
                released: number;
                /** @description Given back later, of what was captured. */
                refunded: number;
            };
            /**
             * @description What became of the outputs; `partial` = some were lost, `expired` = deleted after their time.
             * @enum {string}
             */
            delivery: "pending" | "stored" | "partial" | "failed" | "expired";
            /** @description The wish to cancel it; null when there was none. */
            cancellation: {
                /** @description `tenant` or `operator`. */
                requested_by: string;
                /**
                 * Format: date-time
                 * @description When it was first asked.
                 * @example 2026-11-29T12:00:00.000Z
                 */
                requested_at: string;
                /**
                 * @description `requested` = not decided yet, `confirmed` = stopped, `accepted_may_bill` = ended here, the render may go on, `too_late` = it had finished, `unsupported` = goes on.
                 * @enum {string}
                 */
                outcome: "requested" | "confirmed" | "accepted_may_bill" | "too_late" | "unsupported";
            } | null;
            /** @description Why it is `failed` or `expired`; else null. */
            error: {
                /**
                 * @description Branch on this.
                 * @enum {string}
                 */
                code: "invalid_input" | "content_rejected" | "provider_unavailable" | "provider_rejected" | "provider_failed" | "no_output" | "output_lost" | "output_invalid" | "deadline_exceeded" | "submission_unresolved";
                /** @description What happened and what to do, safe to show. */
                message: string;
                /** @description Whether the same input may succeed in a new generation. */
                retryable: boolean;
            } | null;
            /** @description The files that are stored. */
            outputs: {
                /** @description Its place among the outputs, from 0. */
                index: number;
                /** @description Where to get the file, for whoever has this link; a fresh one comes with each answer. Null once it is deleted. */
                url: string | null;
                url_expires_at: string | null;
                expires_at: string | null;
                /**
                 * @description Recognised from the bytes.
                 * @example video/mp4
                 */
                media_type: string | null;
                /** @description Size of the file. */
                bytes: number | null;
                /** @description Of the file, lower-case hex. */
                sha256: string | null;
                /** @description In pixels; null where there is none. */
                width: number | null;
                /** @description In pixels; null where there is none. */
                height: number | null;
                /** @description As rendered; null where there is none. */
                duration_seconds: number | null;
                /** @description The seed that was used; null when it is not known. */
                seed: number | null;
            }[];
            /**
             * Format: date-time
             * @description When it was taken.
             * @example 2026-11-29T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When anything of this changed last.
             * @example 2026-11-29T12:00:00.000Z
             */
            updated_at: string;
            started_at: string | null;
            completed_at: string | null;
            /**
             * Format: date-time
             * @description When it expires unless it has finished.
             * @example 2026-11-29T12:00:00.000Z
             */
            deadline_at: string;
            /** @description How long its model usually takes. */
            estimated_duration_seconds: number;
            /**
             * @description Path to read it again.
             * @example /v1/generations/gen_06f1m4k2h8v7x9q3w5y1z0a2b4
             */
            poll_url: string;
        };
        Problem: {
            type: string;
            title: string;
            status: number;
            code: string;
            detail: string;
            instance: string;
            errors?: {
                path: string;
                message: string;
            }[];
        } & {
            [key: string]: unknown;
        };
        Input: {
            /**
             * @description Use it in place of a URL, for example as `image_url`.
             * @example inp_06f1m4k2h8v7x9q3w5y1z0a2b4
             */
            id: string;
            /**
             * @description Always `input`.
             * @constant
             */
            object: "input";
            /**
             * @description By the bytes, whatever was said.
             * @example image/png
             */
            media_type: string;
            /** @description Size of the file. */
            bytes: number;
            /** @description Of the stored bytes, in hex. */
            sha256: string;
            /** @description Pixels; null for sounds. */
            width: number | null;
            /** @description Pixels; null for sounds. */
            height: number | null;
            /** @description Null for images, and where the file does not say. */
            duration_seconds: number | null;
            /**
             * Format: date-time
             * @description When it came.
             * @example 2026-11-29T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When the file is deleted; later once a generation works from it.
             * @example 2026-12-29T12:00:00.000Z
             */
            expires_at: string;
        };
        Model: {
            /**
             * @description What a generation names as `model`.
             * @example infro-video
             */
            id: string;
            /**
             * @description Always `model`.
             * @constant
             */
            object: "model";
            /** @description For people. */
            title: string;
            /**
             * @description What it makes of what.
             * @enum {string}
             */
            method: "text-to-video" | "image-to-video" | "text-to-image" | "text-to-speech";
            /** @description Who may run it, in the order in which they are tried; a generation may name one. */
            providers: string[];
            /** @description JSON Schema of `input`. A field with a default may be left out. */
            input_schema: {
                [key: string]: unknown;
            };
            price: components["schemas"]["PriceRule"];
            /** @description What it delivers. */
            outputs: {
                /** @description The most that one generation may ask for. */
                max_count: number;
                /**
                 * @description What an output can be.
                 * @example [
                 *       "video/mp4"
                 *     ]
                 */
                media_types: string[];
            };
            /** @description True while no new generation of it is taken: creating one answers 503 `model_paused`. */
            paused: boolean;
            /** @description How long it usually takes. */
            expected_duration_seconds: number;
            /** @description Seconds after which an unfinished generation expires. */
            deadline_seconds: {
                /** @description When the generation names none. */
                default: number;
                /** @description The shortest that it may name: above the expected duration. */
                min: number;
                /** @description The longest that it may name. */
                max: number;
            };
        };
        /** @description A rule that gives the price of any input, to the credit. Complete the input first: a field that is left out has the `default` of `input_schema`. A `when` holds if every field in it has exactly that value in the input; an empty one always holds. 1. Rate: `millicredits` of the first of `rates` whose `when` holds. 2. Quantity: for `per` = `second` the number `duration_seconds`; for `output` 1; for `thousand_characters` the Unicode code points of `text`, divided by 1000 without rounding. 3. Multiply rate and quantity, then multiply by `percent` / 100 for every one of `adjustments` whose `when` holds. 4. Divide by 1000 and round up to whole credits: the only rounding, and the price of one output. Compute with exact integers or fractions, not with floating point. 5. The generation costs that times `count` of the input, or times 1 where the model has no `count`. */
        PriceRule: {
            /**
             * @description What the rate is multiplied with.
             * @enum {string}
             */
            per: "second" | "output" | "thousand_characters";
            /** @description The first one that fits is the rate. */
            rates: {
                /**
                 * @description Field of the input → value; all must fit.
                 * @example {
                 *       "mode": "fast"
                 *     }
                 */
                when: {
                    [key: string]: string | boolean;
                };
                /** @description Thousandths of a credit per quantity. */
                millicredits: number;
            }[];
            /** @description Every one that fits counts. */
            adjustments: {
                /**
                 * @description Field of the input → value; all must fit.
                 * @example {
                 *       "audio": true
                 *     }
                 */
                when: {
                    [key: string]: string | boolean;
                };
                /** @description 150 = half as much again. */
                percent: number;
            }[];
        };
        Quote: {
            /**
             * @description Always `quote`.
             * @constant
             */
            object: "quote";
            /** @description Id of the model. */
            model: string;
            /** @description What the generation would hold now: whole credits. */
            credits: number;
            /** @description Charged for each output that is stored. */
            credits_per_output: number;
            /** @description How many outputs are asked for. */
            outputs: number;
            /** @description The account that would pay. */
            account: string;
            /** @description Its available credits now; null when there is no such account yet. */
            available: number | null;
            /** @description Whether they suffice now. */
            affordable: boolean;
            /** @description True while no new generation of this model, or of your tenant, is taken. */
            paused: boolean;
        };
        Credits: {
            /**
             * @description Always `credits`.
             * @constant
             */
            object: "credits";
            /** @description Name of the account. */
            account: string;
            /** @description Free to spend: granted, less spent, less held. */
            available: number;
            /** @description Set aside for generations that run. */
            held: number;
            /** @description Captured for generations that succeeded, less refunds. */
            spent: number;
            /** @description Granted in all; always available + held + spent. */
            granted: number;
        };
        Entry: {
            /**
             * @description Never changes.
             * @example grant_12
             */
            id: string;
            /**
             * @description Always `entry`.
             * @constant
             */
            object: "entry";
            /**
             * @description `hold` = set aside when a generation was created, `capture` = spent for what was stored, `release` = given back because it was not needed, `refund` = given back after a capture.
             * @enum {string}
             */
            type: "grant" | "hold" | "capture" | "release" | "refund";
            /**
             * @description What it added to the available credits; negative = took away.
             * @example -100
             */
            available: number;
            /**
             * @description What it added to the held credits; negative = took away.
             * @example 100
             */
            held: number;
            /** @description The generation; null for a grant. */
            generation_id: string | null;
            /** @description What a grant or refund was given for; for a release the state in which the generation ended. */
            reason: string | null;
            /**
             * Format: date-time
             * @description When it happened.
             * @example 2026-11-29T12:00:00.000Z
             */
            created_at: string;
        };
        Grant: {
            /**
             * @description Also the id of its entry.
             * @example grant_12
             */
            id: string;
            /**
             * @description Always `grant`.
             * @constant
             */
            object: "grant";
            /** @description The account that got the credits. */
            account: string;
            /** @description Whole credits. */
            credits: number;
            /** @description As sent. */
            reason: string;
            /**
             * Format: date-time
             * @description When it was granted.
             * @example 2026-11-29T12:00:00.000Z
             */
            created_at: string;
        };
        NewWebhookEndpoint: {
            /**
             * @description Never changes.
             * @example whe_06f1m4k2h8v7x9q3w5y1z0a2b4
             */
            id: string;
            /**
             * @description Always `webhook_endpoint`.
             * @constant
             */
            object: "webhook_endpoint";
            /** @description Where the messages are posted. */
            url: string;
            /** @description What it hears of; without it the four ends. `generation.updated` comes with each change of stage as well. */
            types: ("generation.succeeded" | "generation.failed" | "generation.cancelled" | "generation.expired" | "generation.updated")[];
            /** @description Your own words. */
            description: string;
            /** @description Whether a 4xx answer (but 408, 410, 425 and 429) ends a delivery at once instead of being tried again. */
            end_on_4xx: boolean;
            /**
             * @description Whether anything is sent.
             * @enum {string}
             */
            state: "enabled" | "disabled";
            /** @description `tenant` = by you, `gone` = it answered 410, `failing` = nothing succeeded for five days; null while it is enabled. */
            disabled_reason: ("tenant" | "gone" | "failing") | null;
            failing_since: string | null;
            previous_secret_expires_at: string | null;
            /**
             * Format: date-time
             * @description When it was made.
             * @example 2026-11-29T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was changed last.
             * @example 2026-11-29T12:00:00.000Z
             */
            updated_at: string;
            /**
             * @description Verify with it (Standard Webhooks). Shown this once: keep it now.
             * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
             */
            secret?: string;
        };
        WebhookEndpoint: {
            /**
             * @description Never changes.
             * @example whe_06f1m4k2h8v7x9q3w5y1z0a2b4
             */
            id: string;
            /**
             * @description Always `webhook_endpoint`.
             * @constant
             */
            object: "webhook_endpoint";
            /** @description Where the messages are posted. */
            url: string;
            /** @description What it hears of; without it the four ends. `generation.updated` comes with each change of stage as well. */
            types: ("generation.succeeded" | "generation.failed" | "generation.cancelled" | "generation.expired" | "generation.updated")[];
            /** @description Your own words. */
            description: string;
            /** @description Whether a 4xx answer (but 408, 410, 425 and 429) ends a delivery at once instead of being tried again. */
            end_on_4xx: boolean;
            /**
             * @description Whether anything is sent.
             * @enum {string}
             */
            state: "enabled" | "disabled";
            /** @description `tenant` = by you, `gone` = it answered 410, `failing` = nothing succeeded for five days; null while it is enabled. */
            disabled_reason: ("tenant" | "gone" | "failing") | null;
            failing_since: string | null;
            previous_secret_expires_at: string | null;
            /**
             * Format: date-time
             * @description When it was made.
             * @example 2026-11-29T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was changed last.
             * @example 2026-11-29T12:00:00.000Z
             */
            updated_at: string;
        };
        RotatedWebhookEndpoint: {
            /**
             * @description Never changes.
             * @example whe_06f1m4k2h8v7x9q3w5y1z0a2b4
             */
            id: string;
            /**
             * @description Always `webhook_endpoint`.
             * @constant
             */
            object: "webhook_endpoint";
            /** @description Where the messages are posted. */
            url: string;
            /** @description What it hears of; without it the four ends. `generation.updated` comes with each change of stage as well. */
            types: ("generation.succeeded" | "generation.failed" | "generation.cancelled" | "generation.expired" | "generation.updated")[];
            /** @description Your own words. */
            description: string;
            /** @description Whether a 4xx answer (but 408, 410, 425 and 429) ends a delivery at once instead of being tried again. */
            end_on_4xx: boolean;
            /**
             * @description Whether anything is sent.
             * @enum {string}
             */
            state: "enabled" | "disabled";
            /** @description `tenant` = by you, `gone` = it answered 410, `failing` = nothing succeeded for five days; null while it is enabled. */
            disabled_reason: ("tenant" | "gone" | "failing") | null;
            failing_since: string | null;
            previous_secret_expires_at: string | null;
            /**
             * Format: date-time
             * @description When it was made.
             * @example 2026-11-29T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was changed last.
             * @example 2026-11-29T12:00:00.000Z
             */
            updated_at: string;
            /**
             * @description Verify with it (Standard Webhooks). Shown this once: keep it now.
             * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
             */
            secret: string;
        };
        WebhookDelivery: {
            /**
             * @description Never changes.
             * @example whd_12
             */
            id: string;
            /**
             * @description Always `webhook_delivery`.
             * @constant
             */
            object: "webhook_delivery";
            /** @description The `webhook-id` header: the same at each attempt and each receiver; remember it. */
            event_id: string;
            /**
             * @description What it tells.
             * @enum {string}
             */
            type: "generation.succeeded" | "generation.failed" | "generation.cancelled" | "generation.expired" | "generation.updated" | "webhook.test";
            /** @description The generation; null for a test. */
            generation_id: string | null;
            /** @description The endpoint; null for the `callback_url` of the generation. */
            endpoint_id: string | null;
            /**
             * @description `pending` = due now or later, `failed` = the schedule is over, `held` = the endpoint is disabled, `cancelled` = it was deleted. All but `pending` can be sent again.
             * @enum {string}
             */
            state: "pending" | "delivered" | "failed" | "held" | "cancelled";
            /** @description How often it was tried. */
            attempts: number;
            next_attempt_at: string | null;
            /** @description The HTTP status of the last answer; null without one. */
            last_status: number | null;
            /** @description Why the last attempt failed; null when it did not. */
            last_problem: string | null;
            /**
             * Format: date-time
             * @description When it happened.
             * @example 2026-11-29T12:00:00.000Z
             */
            created_at: string;
            delivered_at: string | null;
        };
        WebhookSecret: {
            /**
             * @description Always `webhook_secret`.
             * @constant
             */
            object: "webhook_secret";
            /**
             * @description Verify with it (Standard Webhooks). Shown this once: keep it now.
             * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
             */
            secret: string;
        };
        WebhookDeliveryDetail: {
            /**
             * @description Never changes.
             * @example whd_12
             */
            id: string;
            /**
             * @description Always `webhook_delivery`.
             * @constant
             */
            object: "webhook_delivery";
            /** @description The `webhook-id` header: the same at each attempt and each receiver; remember it. */
            event_id: string;
            /**
             * @description What it tells.
             * @enum {string}
             */
            type: "generation.succeeded" | "generation.failed" | "generation.cancelled" | "generation.expired" | "generation.updated" | "webhook.test";
            /** @description The generation; null for a test. */
            generation_id: string | null;
            /** @description The endpoint; null for the `callback_url` of the generation. */
            endpoint_id: string | null;
            /**
             * @description `pending` = due now or later, `failed` = the schedule is over, `held` = the endpoint is disabled, `cancelled` = it was deleted. All but `pending` can be sent again.
             * @enum {string}
             */
            state: "pending" | "delivered" | "failed" | "held" | "cancelled";
            /** @description How often it was tried. */
            attempts: number;
            next_attempt_at: string | null;
            /** @description The HTTP status of the last answer; null without one. */
            last_status: number | null;
            /** @description Why the last attempt failed; null when it did not. */
            last_problem: string | null;
            /**
             * Format: date-time
             * @description When it happened.
             * @example 2026-11-29T12:00:00.000Z
             */
            created_at: string;
            delivered_at: string | null;
            /** @description The last attempts, newest first; at most 50. */
            tries: {
                /** @description Also the `X-Webhook-Attempt` header. */
                attempt: number;
                /**
                 * Format: date-time
                 * @description When it ended.
                 * @example 2026-11-29T12:00:00.000Z
                 */
                at: string;
                /** @description How long it took. */
                duration_ms: number;
                /** @description The HTTP status; null without an answer. */
                status: number | null;
                /** @description Why it failed, as a fixed word; null on a success. */
                problem: string | null;
                /** @description The same in a sentence. */
                advice: string | null;
                /** @description The first 20,000 bytes of the answer, read as UTF-8. */
                answer: string;
            }[];
        };
        ListedGeneration: {
            /**
             * @description Always `listed_generation`.
             * @constant
             */
            object: "listed_generation";
            /**
             * @description Of the generation.
             * @example gen_06f1m4k2h8v7x9q3w5y1z0a2b4
             */
            id: string;
            /** @description Its run in the Temporal UI; null when `TEMPORAL_UI_URL` is not set. */
            temporal_url: string | null;
            /** @description Id of its tenant. */
            tenant: string;
            /** @description The credit account that pays. */
            account: string;
            /** @description Id of the model. */
            model: string;
            /** @description Where it was submitted last, or will be. */
            provider: string;
            /**
             * @description As its tenant sees it.
             * @enum {string}
             */
            state: "queued" | "running" | "succeeded" | "failed" | "cancelled" | "expired";
            /**
             * @description Where its run is.
             * @enum {string}
             */
            stage: "queued" | "submitting" | "submission_unknown" | "waiting" | "storing" | "settling" | "needs_operator" | "done";
            /**
             * Format: date-time
             * @description When it was asked for.
             * @example 2026-11-29T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it ends unless a provider has succeeded.
             * @example 2026-11-29T12:00:00.000Z
             */
            deadline_at: string;
            due_at: string | null;
            /** @description For how long it should have written; 0 = it is in time. */
            overdue_seconds: number;
            /** @description The price, held or settled. */
            credits: number;
            reason: string | null;
        };
        OperatedGeneration: {
            /**
             * @description Always `operated_generation`.
             * @constant
             */
            object: "operated_generation";
            /**
             * @description Of the generation.
             * @example gen_06f1m4k2h8v7x9q3w5y1z0a2b4
             */
            id: string;
            /** @description Its run in the Temporal UI; null when `TEMPORAL_UI_URL` is not set. */
            temporal_url: string | null;
            /** @description Id of its tenant. */
            tenant: string;
            /** @description The credit account that pays. */
            account: string;
            /** @description Id of the model. */
            model: string;
            /** @description Where it was submitted last, or will be. */
            provider: string;
            /**
             * @description As its tenant sees it.
             * @enum {string}
             */
            state: "queued" | "running" | "succeeded" | "failed" | "cancelled" | "expired";
            /**
             * @description Where its run is.
             * @enum {string}
             */
            stage: "queued" | "submitting" | "submission_unknown" | "waiting" | "storing" | "settling" | "needs_operator" | "done";
            /**
             * Format: date-time
             * @description When it was asked for.
             * @example 2026-11-29T12:00:00.000Z
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it ends unless a provider has succeeded.
             * @example 2026-11-29T12:00:00.000Z
             */
            deadline_at: string;
            due_at: string | null;
            /** @description For how long it should have written; 0 = it is in time. */
            overdue_seconds: number;
            /** @description What to do now. */
            next: {
                /** @description In words. */
                what: string;
                command: string | null;
            };
            /** @description From 0 to 1. */
            progress: number | null;
            error_code: string | null;
            operator_reason: string | null;
            /** @description Of its outputs: `pending`, `stored`, `partial`, `failed` or `expired`. */
            delivery: string;
            /** @description Its hold. */
            credits: {
                /** @description `held`, `captured` or `released`. */
                state: string;
                /** @description Held at first. */
                amount: number;
                /** @description Charged. */
                captured: number;
                /** @description Given back later. */
                refunded: number;
            };
            /** @description The wish to cancel. */
            cancellation: {
                /** @description What became of it. */
                outcome: string;
                /** @description Who asked. */
                requested_by: string;
            } | null;
            /** @description What an operator has stopped that it would need. */
            paused: {
                /** @description `provider`, `model` or `tenant`. */
                kind: string;
                /** @description Which. */
                target: string;
            } | null;
            /** @description Why its provider takes no submits just now. */
            provider_closed: ("circuit_open" | "daily_budget") | null;
            started_at: string | null;
            success_at: string | null;
            store_until: string | null;
            wake_requested_at: string | null;
            completed_at: string | null;
            erased_at: string | null;
            /** @description Every try, the first one first. */
            submissions: components["schemas"]["OperatedSubmission"][];
            /** @description The last 50, newest first, without bodies. */
            callbacks: components["schemas"]["Callback"][];
            /** @description By index. */
            outputs: {
                /** @description Its place, from 0. */
                index: number;
                /** @description `storing`, `stored`, `lost`, `invalid`, `deleting` or `deleted`. */
                state: string;
                /** @description How often it was tried. */
                attempts: number;
                problem: string | null;
                path: string | null;
                bytes: number | null;
                sha256: string | null;
                media_type: string | null;
                /** @description As rendered. */
                duration_seconds: number | null;
                /** @description As charged. */
                priced_seconds: number | null;
                lease_until: string | null;
                stored_at: string | null;
                expires_at: string | null;
            }[];
            /** @description The last 50 deliveries, newest first. */
            webhooks: {
                /** @description Of the delivery. */
                id: string;
                /** @description What it tells. */
                type: string;
                endpoint: string | null;
                receiver: string | null;
                /** @description `pending`, `delivered`, `failed`, `held` or `cancelled`. */
                state: string;
                /** @description How often it was tried. */
                attempts: number;
                next_attempt_at: string | null;
                /** @description HTTP status of the last answer. */
                last_status: number | null;
                last_problem: string | null;
                delivered_at: string | null;
            }[];
            /** @description The last 100, newest first. */
            operator_actions: {
                /** @description What was done. */
                kind: string;
                /** @description By whom. */
                actor: string;
                /** @description Why. */
                reason: string;
                /** @description What else there is to it. */
                detail: {
                    [key: string]: unknown;
                };
                /**
                 * Format: date-time
                 * @description When.
                 * @example 2026-11-29T12:00:00.000Z
                 */
                at: string;
            }[];
            /** @description The last 100, newest first. */
            events: {
                /** @description Its number, from 1. */
                seq: number;
                /** @description `state`, `stage`, `progress`, `terminal` and so on. */
                type: string;
                /** @description What changed. */
                data: {
                    [key: string]: unknown;
                };
                /**
                 * Format: date-time
                 * @description When.
                 * @example 2026-11-29T12:00:00.000Z
                 */
                at: string;
            }[];
        };
        OperatedSubmission: {
            /** @description Of the submission. */
            id: string;
            /** @description Its place among the tries, from 1. */
            ordinal: number;
            /** @description Where it went. */
            provider: string;
            /** @description Name of the API key that was used. */
            credential: string;
            /** @description `prepared`, `sending`, `unknown`, `accepted`, `refused` or `abandoned`. */
            state: string;
            /** @description As the provider got it. */
            idempotency_key: string;
            first_sent_at: string | null;
            unknown_at: string | null;
            accepted_at: string | null;
            lease_until: string | null;
            job_id: string | null;
            provider_status: string | null;
            problem: string | null;
            refusal_code: string | null;
            observed_at: string | null;
            /** @description How often it was looked at. */
            observations: number;
            terminal_hint_at: string | null;
            cancel_sent_at: string | null;
            ended_at: string | null;
            ended_as: string | null;
            late_look_at: string | null;
            late_success_at: string | null;
            /** @description What the provider bills; null when nobody has said. */
            cost: {
                /**
                 * @description Decimal number.
                 * @example 0.25
                 */
                amount: string;
                /** @description Of the amount. */
                unit: string;
                /** @description False = an estimate. */
                final: boolean;
                /** @description Who said so. */
                source: string;
                /**
                 * Format: date-time
                 * @description When it was booked.
                 * @example 2026-11-29T12:00:00.000Z
                 */
                at: string;
            } | null;
            /** @description Further jobs that the provider reported for it. */
            orphan_jobs: {
                /** @description Of the provider. */
                job_id: string;
                /**
                 * Format: date-time
                 * @description When it was reported.
                 * @example 2026-11-29T12:00:00.000Z
                 */
                reported_at: string;
            }[];
            /** @description Callbacks that came for it, also those not kept. */
            callbacks: number;
        };
        Callback: {
            /**
             * @description Always `callback`.
             * @constant
             */
            object: "callback";
            /**
             * @description Of the callback.
             * @example cbk_12
             */
            id: string;
            /** @description Who sent it. */
            provider: string;
            /** @description Under which of our API keys. */
            credential: string;
            submission: string | null;
            generation: string | null;
            /** @description Its run in the Temporal UI; null when `TEMPORAL_UI_URL` is not set. */
            temporal_url: string | null;
            job_id: string | null;
            /** @description As the provider calls it. */
            type: string;
            /** @description Whether it tells an end. */
            terminal: boolean;
            /** @description From 0 to 1. */
            progress: number | null;
            /** @description Size of its body. */
            bytes: number;
            /**
             * Format: date-time
             * @description When it came.
             * @example 2026-11-29T12:00:00.000Z
             */
            received_at: string;
            seen_at: string | null;
        };
        OperatorAction: {
            /**
             * @description Always `operator_action`.
             * @constant
             */
            object: "operator_action";
            /** @description Id of the generation. */
            generation: string;
            /** @description What was asked for, as in the path. */
            action: string;
            /**
             * @description What it has brought about. `searching`: its job is not known, it is looked for where the provider can be asked. `attaching`: the provider is asked for the job, which is attached when it is there. `…_late`: nothing changes for the tenant. `requested`: the provider is asked to cancel, its answer decides.
             * @enum {string}
             */
            outcome: "woken" | "cancelled" | "requested" | "observing" | "searching" | "observing_late" | "storing" | "attaching" | "attaching_late" | "attached" | "ended" | "resubmitting" | "redelivering";
            /** @description True = nothing was changed. */
            dry_run: boolean;
            /**
             * @description How it stands after it.
             * @enum {string}
             */
            state: "queued" | "running" | "succeeded" | "failed" | "cancelled" | "expired";
            /**
             * @description How it stands after it.
             * @enum {string}
             */
            stage: "queued" | "submitting" | "submission_unknown" | "waiting" | "storing" | "settling" | "needs_operator" | "done";
            /** @description The submission that it was about. */
            submission: string | null;
            /** @description The job that it was about. */
            job_id: string | null;
            /** @description Jobs looked at, outputs tried again, webhooks sent again. */
            count: number | null;
            /** @description Webhooks left out: their endpoint is disabled or deleted. */
            skipped: number | null;
            /** @description Until when outputs are tried now. */
            store_until: string | null;
            /** @description Its run in the Temporal UI; null when `TEMPORAL_UI_URL` is not set. */
            temporal_url: string | null;
        };
        Refund: {
            /**
             * @description Always `refund`.
             * @constant
             */
            object: "refund";
            /** @description Id of the generation. */
            generation: string;
            /** @description What this refund gave back. */
            credits: number;
            /** @description What all refunds of the generation have given back by now. */
            refunded_credits: number;
            /**
             * @description What it is refunded for; one refund of a generation for each. The tenant sees it.
             * @example bad-output
             */
            reason: string;
            /** @description True = nothing was changed. */
            dry_run: boolean;
            /** @description Its run in the Temporal UI; null when `TEMPORAL_UI_URL` is not set. */
            temporal_url: string | null;
        };
        Resolution: {
            /**
             * @description Always `resolution`.
             * @constant
             */
            object: "resolution";
            /** @description Id of the generation. */
            generation: string;
            /** @description How it has ended. */
            state: string;
            /** @description What the tenant is told; null when it succeeded. */
            error_code: string | null;
            /** @description Charged for what is stored; the rest is released. */
            captured_credits: number;
            /**
             * @description Why; kept for ever with the id of your key and the time.
             * @example ticket 4711
             */
            reason: string;
            /** @description True = nothing was changed. */
            dry_run: boolean;
            /** @description Its run in the Temporal UI; null when `TEMPORAL_UI_URL` is not set. */
            temporal_url: string | null;
        };
        Sweep: {
            /**
             * @description Always `sweep`.
             * @constant
             */
            object: "sweep";
            /** @description What one pass of each brought. */
            counts: {
                /** @description Overdue rows, or wakes that nobody took, whose run was woken or started again. */
                due_woken: number;
                /** @description Rows that cannot be read, set aside for an operator. */
                rows_parked: number;
                /** @description Overdue rows whose run could not be woken; each is tried again after a growing pause. */
                rows_set_aside: number;
                /** @description Runs woken for callbacks that nobody had read; it should be 0. */
                unseen_woken: number;
                /** @description Runs of waiting generations that Temporal was asked for. */
                runs_checked: number;
                /** @description Those that were closed or gone and have been started again. */
                runs_ensured: number;
                /** @description Jobs in the lists of providers that were compared with our rows. */
                jobs_listed: number;
                /** @description Those that were attached to a submission whose answer was lost. */
                jobs_matched: number;
                /** @description Second jobs of a submission: their cost is ours. */
                orphan_jobs: number;
                /** @description Jobs with our signature of which we have no row: their cost is ours. */
                stray_jobs: number;
                /** @description Jobs of ended generations that were looked at, since nobody knew of their end. */
                late_observed: number;
                /** @description Files removed whose time was over or whose deletion was asked for. */
                files_removed: number;
                /** @description Rows of old history removed. */
                rows_pruned: number;
                /** @description Rows that violate an invariant, among what changed of late; it must be 0. */
                violations: number;
            };
            /** @description Empty when all went well; what is here is tried again by itself. */
            failed: {
                /**
                 * @description Which pass.
                 * @enum {string}
                 */
                pass: "due" | "inbox" | "runs" | "jobs" | "late" | "files" | "history" | "invariants";
                /**
                 * @description What it could not do, or found amiss.
                 * @enum {string}
                 */
                problem: "pass_failed" | "temporal_unavailable" | "ensure_failed" | "unreadable_row" | "list_unavailable" | "job_not_matched" | "job_taken" | "file_not_removed" | "late_success" | "invariant_violated";
                /** @description How often. */
                times: number;
                /** @description Ids, providers or labels of invariants; at most ten. */
                keys: string[];
            }[];
            /** @description Passes that need providers, when this process has none. */
            left_to_workers: ("due" | "inbox" | "runs" | "jobs" | "late" | "files" | "history" | "invariants")[];
        };
        Pause: {
            /**
             * @description Always `pause`.
             * @constant
             */
            object: "pause";
            /**
             * @description What is stopped.
             * @example provider
             * @enum {string}
             */
            kind: "provider" | "model" | "tenant";
            /**
             * @description Name of the provider, id of the model or of the tenant.
             * @example infro
             */
            target: string;
            /** @description Why it was paused. */
            reason: string;
            /**
             * @description Who paused it.
             * @example key:key_06f1m4k2h8v7x9q3w5y1z0a2b4
             */
            actor: string;
            /**
             * Format: date-time
             * @description Since when.
             */
            created_at: string;
        };
        Paused: {
            /**
             * @description `already_paused`: nothing was changed, and the pause is the first one.
             * @enum {string}
             */
            outcome: "paused" | "already_paused";
            /** @description True = nothing was changed. */
            dry_run: boolean;
            pause: components["schemas"]["Pause"];
        };
        Resumed: {
            /**
             * @description `not_paused`: nothing was paused under this name, and nothing was changed.
             * @enum {string}
             */
            outcome: "resumed" | "not_paused";
            /** @description True = nothing was changed. */
            dry_run: boolean;
            /** @description As it stood; null = it was not paused. */
            pause: components["schemas"]["Pause"] | null;
            /** @description How many that wait go on now, within seconds. */
            generations_due: number;
        };
        OperatedWebhookDelivery: {
            /**
             * @description Never changes.
             * @example whd_12
             */
            id: string;
            /**
             * @description Always `webhook_delivery`.
             * @constant
             */
            object: "webhook_delivery";
            /** @description The `webhook-id` header: the same at each attempt and each receiver; remember it. */
            event_id: string;
            /**
             * @description What it tells.
             * @enum {string}
             */
            type: "generation.succeeded" | "generation.failed" | "generation.cancelled" | "generation.expired" | "generation.updated" | "webhook.test";
            /** @description The generation; null for a test. */
            generation_id: string | null;
            /** @description The endpoint; null for the `callback_url` of the generation. */
            endpoint_id: string | null;
            /**
             * @description `pending` = due now or later, `failed` = the schedule is over, `held` = the endpoint is disabled, `cancelled` = it was deleted. All but `pending` can be sent again.
             * @enum {string}
             */
            state: "pending" | "delivered" | "failed" | "held" | "cancelled";
            /** @description How often it was tried. */
            attempts: number;
            next_attempt_at: string | null;
            /** @description The HTTP status of the last answer; null without one. */
            last_status: number | null;
            /** @description Why the last attempt failed; null when it did not. */
            last_problem: string | null;
            /**
             * Format: date-time
             * @description When it happened.
             * @example 2026-11-29T12:00:00.000Z
             */
            created_at: string;
            delivered_at: string | null;
            /** @description Id of its tenant. */
            tenant: string;
            /**
             * @description Origin of the address; the rest of it is the tenant’s.
             * @example https://example.com
             */
            receiver: string | null;
            /** @description The run of its generation in the Temporal UI; null without one, or when `TEMPORAL_UI_URL` is not set. */
            temporal_url: string | null;
        };
        OperatedWebhookDeliveryDetail: {
            /**
             * @description Never changes.
             * @example whd_12
             */
            id: string;
            /**
             * @description Always `webhook_delivery`.
             * @constant
             */
            object: "webhook_delivery";
            /** @description The `webhook-id` header: the same at each attempt and each receiver; remember it. */
            event_id: string;
            /**
             * @description What it tells.
             * @enum {string}
             */
            type: "generation.succeeded" | "generation.failed" | "generation.cancelled" | "generation.expired" | "generation.updated" | "webhook.test";
            /** @description The generation; null for a test. */
            generation_id: string | null;
            /** @description The endpoint; null for the `callback_url` of the generation. */
            endpoint_id: string | null;
            /**
             * @description `pending` = due now or later, `failed` = the schedule is over, `held` = the endpoint is disabled, `cancelled` = it was deleted. All but `pending` can be sent again.
             * @enum {string}
             */
            state: "pending" | "delivered" | "failed" | "held" | "cancelled";
            /** @description How often it was tried. */
            attempts: number;
            next_attempt_at: string | null;
            /** @description The HTTP status of the last answer; null without one. */
            last_status: number | null;
            /** @description Why the last attempt failed; null when it did not. */
            last_problem: string | null;
            /**
             * Format: date-time
             * @description When it happened.
             * @example 2026-11-29T12:00:00.000Z
             */
            created_at: string;
            delivered_at: string | null;
            /** @description Id of its tenant. */
            tenant: string;
            /**
             * @description Origin of the address; the rest of it is the tenant’s.
             * @example https://example.com
             */
            receiver: string | null;
            /** @description The run of its generation in the Temporal UI; null without one, or when `TEMPORAL_UI_URL` is not set. */
            temporal_url: string | null;
            /** @description The last attempts, newest first; at most 50. */
            tries: {
                /** @description Also the `X-Webhook-Attempt` header. */
                attempt: number;
                /**
                 * Format: date-time
                 * @description When it ended.
                 * @example 2026-11-29T12:00:00.000Z
                 */
                at: string;
                /** @description How long it took. */
                duration_ms: number;
                /** @description The HTTP status; null without an answer. */
                status: number | null;
                /** @description Why it failed, as a fixed word; null on a success. */
                problem: string | null;
                /** @description The same in a sentence. */
                advice: string | null;
            }[];
        };
        Tenant: {
            /**
             * @description Always `tenant`.
             * @constant
             */
            object: "tenant";
            /**
             * @description Never changes.
             * @example ten_06f1m4k2h8v7x9q3w5y1z0a2b4
             */
            id: string;
            /** @description For operators. */
            name: string;
            /** @description How long its files are kept; null = as the settings say. */
            retention_hours: number | null;
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
        };
        ApiKey: {
            /**
             * @description Always `api_key`.
             * @constant
             */
            object: "api_key";
            /**
             * @description The part between `dk_` and the next `_`.
             * @example a8Kq02LmZx81TnVb
             */
            id: string;
            /** @description Its tenant; null = an operator’s. */
            tenant: string | null;
            /** @description What it may do. */
            scopes: ("generations" | "credits:grant" | "webhooks" | "admin")[];
            /** @description Your own words. */
            label: string;
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            expires_at: string | null;
            revoked_at: string | null;
            last_used_at: string | null;
        };
        NewApiKey: {
            /**
             * @description Always `api_key`.
             * @constant
             */
            object: "api_key";
            /**
             * @description The part between `dk_` and the next `_`.
             * @example a8Kq02LmZx81TnVb
             */
            id: string;
            /** @description Its tenant; null = an operator’s. */
            tenant: string | null;
            /** @description What it may do. */
            scopes: ("generations" | "credits:grant" | "webhooks" | "admin")[];
            /** @description Your own words. */
            label: string;
            /**
             * Format: date-time
             * @description When it was made.
             */
            created_at: string;
            expires_at: string | null;
            revoked_at: string | null;
            last_used_at: string | null;
            /**
             * @description The key itself, in this answer only; a replay has none: revoke it then, and make another.
             * @example dk_a8Kq02LmZx81TnVb_…
             */
            key?: string;
        };
        Limit: {
            /**
             * @description Always `limit`.
             * @constant
             */
            object: "limit";
            /**
             * @description `tenant` = all of it together, `each_account` = every account that has no limits of its own, `account` = this one.
             * @enum {string}
             */
            scope: "tenant" | "each_account" | "account";
            /** @description For the scope `account`: its name. */
            account: string | null;
            /**
             * @description Generations that have not ended; null = no limit.
             * @example 10
             */
            generations_in_flight: number | null;
            /**
             * @description Credits of the generations created in a UTC day, held or charged; null = no limit.
             * @example 5000
             */
            credits_per_day: number | null;
            /**
             * @description For the scope `tenant` every call with a key of it, for accounts every new generation; null = no limit.
             * @example 600
             */
            requests_per_minute: number | null;
            /**
             * @description Cancels in a UTC day of generations that a provider has begun; null = no limit.
             * @example 20
             */
            cancels_per_day: number | null;
        };
        ProviderBudget: {
            /**
             * @description Always `provider_budget`.
             * @constant
             */
            object: "provider_budget";
            /** @description Name of the provider. */
            provider: string;
            /**
             * @description Decimal number, for a UTC day; null = no budget.
             * @example 25.5
             */
            amount_per_day: string | null;
            /** @description Unit of the amounts. */
            unit: string | null;
            /**
             * @description Final costs and estimates of what was sent today.
             * @example 3.25
             */
            spent_today: string | null;
            /**
             * Format: date-time
             * @description When new submits were stopped today; null = they are not.
             */
            reached_at: string | null;
        };
        /** @description What `data:` of an event holds. `created` and `stage` tell state and stage; `progress` tells progress; `cancellation` tells outcome; `terminal` tells state, stage, delivery, error and credits; `snapshot` tells state, stage, progress, delivery, error and outcome. */
        GenerationEvent: {
            /** @description Id of the generation. */
            generation: string;
            /**
             * Format: date-time
             * @description When it happened.
             * @example 2026-11-29T12:00:00.000Z
             */
            at: string;
            /**
             * @description Branch on this. Only forward; the last four are final.
             * @enum {string}
             */
            state?: "queued" | "running" | "succeeded" | "failed" | "cancelled" | "expired";
            /**
             * @description Where it is inside its state.
             * @enum {string}
             */
            stage?: "queued" | "submitting" | "submission_unknown" | "waiting" | "storing" | "settling" | "needs_operator" | "done";
            /** @description As the provider tells it, never backwards; null when it tells none. */
            progress?: number | null;
            /**
             * @description What became of the outputs; `partial` = some were lost, `expired` = deleted after their time.
             * @enum {string}
             */
            delivery?: "pending" | "stored" | "partial" | "failed" | "expired";
            /** @description Why it is `failed` or `expired`; else null. */
            error?: {
                /**
                 * @description Branch on this.
                 * @enum {string}
                 */
                code: "invalid_input" | "content_rejected" | "provider_unavailable" | "provider_rejected" | "provider_failed" | "no_output" | "output_lost" | "output_invalid" | "deadline_exceeded" | "submission_unresolved";
                /** @description What happened and what to do, safe to show. */
                message: string;
                /** @description Whether the same input may succeed in a new generation. */
                retryable: boolean;
            } | null;
            /** @description What it cost, in whole credits. */
            credits?: {
                /** @description Charged for what was stored. */
                captured: number;
                /** @description Given back because it was not needed. */
                released: number;
            };
            /** @description `cancellation.outcome` of the generation. */
            outcome?: ("requested" | "confirmed" | "accepted_may_bill" | "too_late" | "unsupported") | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listGenerations: {
        parameters: {
            query?: {
                account?: string;
                /** @description Only those in this state. */
                state?: "queued" | "running" | "succeeded" | "failed" | "cancelled" | "expired";
                /** @description Id of a model. */
                model?: string;
                /** @description Only those created after this time. */
                created_after?: string;
                /** @description How many at most. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Newest first. */
                        data: components["schemas"]["Generation"][];
                        /** @description Whether there is another page. */
                        has_more: boolean;
                        /** @description Send it as `after` to get the next page. */
                        next_cursor: string | null;
                    };
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createGeneration: {
        parameters: {
            query?: never;
            header: {
                /** @description One new random value for each intent, bare or as a quoted RFC 8941 string. Send the same key to retry: the stored answer comes back, and nothing is done twice. Kept as long as what was made; unique per tenant and route. */
                "Idempotency-Key": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "model": "infro-video",
                 *       "input": {
                 *         "prompt": "A lighthouse in a storm, seen from the sea"
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description Id of the model. */
                    model: string;
                    /** @description What to make; the fields differ from model to model. */
                    input: {
                        [key: string]: unknown;
                    };
                    /** @description Only this provider; without it the first that can take the job. */
                    provider?: string;
                    /**
                     * @description The credit account that pays; the tenant’s own name for one of its users.
                     * @default default
                     * @example default
                     */
                    account?: string;
                    /**
                     * @description Seconds after which an unfinished generation expires and its credits are released.
                     * @default 900
                     */
                    deadline_seconds?: number;
                    /** @description The most that you will pay: a higher price answers 409 `price_changed`, nothing is held. */
                    max_credits?: number;
                    /**
                     * @description Where the end of this generation is announced, beside your webhook endpoints: an https URL of a public host without user name, password or port. Signed with the default secret of your tenant (`POST /v1/webhook-secret/rotate` makes it).
                     * @example https://example.com/darkroom
                     */
                    callback_url?: string;
                    /**
                     * @description Your own labels: at most 50 keys, text values of at most 500 characters.
                     * @default {}
                     * @example {
                     *       "order": "A-1"
                     *     }
                     */
                    metadata?: {
                        [key: string]: string;
                    };
                };
            };
        };
        responses: {
            /** @description Taken. A replay of the same key gives the very same bytes. */
            202: {
                headers: {
                    /** @description Path of the generation. */
                    Location?: string;
                    /** @description Seconds to wait before the next call. */
                    "Retry-After"?: number;
                    /** @description `true` when this is the stored answer of an earlier request with the same key. */
                    "Idempotent-Replayed"?: string;
                    /** @description Opens this generation, and nothing else, to a browser: `?watch_token=` on its GET and its events, until an hour after its deadline. Made anew for each answer; missing when that is past. */
                    "Watch-Token"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Generation"];
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getGeneration: {
        parameters: {
            query?: never;
            header?: {
                /** @description ETag of the state that you have. */
                "If-None-Match"?: string;
                /** @description `wait=N`, N from 1 to 60 seconds. */
                Prefer?: string;
            };
            path: {
                /** @description Id of the generation. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The generation. */
            200: {
                headers: {
                    /** @description Send it back as If-None-Match to get 304 while nothing changed. */
                    ETag?: string;
                    /** @description Seconds to wait before the next call. */
                    "Retry-After"?: number;
                    /** @description `wait=N` when the answer was held back as asked. */
                    "Preference-Applied"?: string;
                    /** @description Opens this generation, and nothing else, to a browser: `?watch_token=` on its GET and its events, until an hour after its deadline. Made anew for each answer; missing when that is past. */
                    "Watch-Token"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Generation"];
                };
            };
            /** @description Nothing changed since the ETag in If-None-Match. */
            304: {
                headers: {
                    /** @description Send it back as If-None-Match to get 304 while nothing changed. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteGeneration: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the generation. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Cancelled; the credits are released. */
            200: {
                headers: {
                    /** @description Opens this generation, and nothing else, to a browser: `?watch_token=` on its GET and its events, until an hour after its deadline. Made anew for each answer; missing when that is past. */
                    "Watch-Token"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Generation"];
                };
            };
            /** @description The wish is recorded; poll for the outcome. */
            202: {
                headers: {
                    /** @description Path of the generation. */
                    Location?: string;
                    /** @description Seconds to wait before the next call. */
                    "Retry-After"?: number;
                    /** @description Opens this generation, and nothing else, to a browser: `?watch_token=` on its GET and its events, until an hour after its deadline. Made anew for each answer; missing when that is past. */
                    "Watch-Token"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Generation"];
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    followGeneration: {
        parameters: {
            query?: {
                /** @description As `Last-Event-ID`, for pages that can not set it; the header comes first. */
                last_event_id?: string;
            };
            header?: {
                /** @description `id` of the last event that you have; a browser sends it by itself. */
                "Last-Event-ID"?: string;
            };
            path: {
                /** @description Id of the generation. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events; each `data` is one line of JSON. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example retry: 2000
                     *
                     *     id: 1
                     *     event: created
                     *     data: {"generation":"gen_06f1m4k2h8v7x9q3w5y1z0a2b4","at":"2026-11-29T12:00:00.000Z","state":"queued","stage":"queued"}
                     */
                    "text/event-stream": {
                        /**
                         * @description Number of the event within the generation.
                         * @example 1
                         */
                        id: string;
                        /**
                         * @description What it tells.
                         * @enum {string}
                         */
                        event: "created" | "stage" | "progress" | "cancellation" | "terminal" | "snapshot";
                        /** @description One line of JSON: a `GenerationEvent`. */
                        data: string;
                    };
                };
            };
            /** @description It has ended, and you have its last event: do not connect again. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancelGeneration: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the generation. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Cancelled; the credits are released. */
            200: {
                headers: {
                    /** @description Opens this generation, and nothing else, to a browser: `?watch_token=` on its GET and its events, until an hour after its deadline. Made anew for each answer; missing when that is past. */
                    "Watch-Token"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Generation"];
                };
            };
            /** @description The wish is recorded; poll for the outcome. */
            202: {
                headers: {
                    /** @description Path of the generation. */
                    Location?: string;
                    /** @description Seconds to wait before the next call. */
                    "Retry-After"?: number;
                    /** @description Opens this generation, and nothing else, to a browser: `?watch_token=` on its GET and its events, until an hour after its deadline. Made anew for each answer; missing when that is past. */
                    "Watch-Token"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Generation"];
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getOutput: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the generation. */
                id: string;
                /** @description Index of the output, from 0. */
                n: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The link. */
            302: {
                headers: {
                    /** @description The same link as `outputs[].url`. */
                    Location?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteOutputs: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the generation. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Their links are dead; the files go soon. */
            202: {
                headers: {
                    /** @description Path of the generation. */
                    Location?: string;
                    /** @description Opens this generation, and nothing else, to a browser: `?watch_token=` on its GET and its events, until an hour after its deadline. Made anew for each answer; missing when that is past. */
                    "Watch-Token"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Generation"];
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    eraseInput: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the generation. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Erased. */
            200: {
                headers: {
                    /** @description Opens this generation, and nothing else, to a browser: `?watch_token=` on its GET and its events, until an hour after its deadline. Made anew for each answer; missing when that is past. */
                    "Watch-Token"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Generation"];
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    uploadInput: {
        parameters: {
            query?: never;
            header: {
                /** @description One new random value for each intent, bare or as a quoted RFC 8941 string. Send the same key to retry: the stored answer comes back, and nothing is done twice. Kept as long as what was made; unique per tenant and route. */
                "Idempotency-Key": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "image/png": string;
                "image/jpeg": string;
                "image/webp": string;
                "image/gif": string;
                "video/mp4": string;
                "video/webm": string;
                "audio/wav": string;
                "audio/mpeg": string;
            };
        };
        responses: {
            /** @description Stored. */
            201: {
                headers: {
                    /** @description Path of the input. */
                    Location?: string;
                    /** @description `true` when this is the stored answer of an earlier request with the same key. */
                    "Idempotent-Replayed"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Input"];
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getInput: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the input. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The input. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Input"];
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listModels: {
        parameters: {
            query?: {
                /** @description Only models that this provider may run. */
                provider?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All models, in the order of the catalogue. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The models. */
                        data: components["schemas"]["Model"][];
                    };
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createQuote: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "model": "infro-video",
                 *       "input": {
                 *         "prompt": "A lighthouse in a storm, seen from the sea"
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description Id of the model. */
                    model: string;
                    /** @description What to make; the fields differ from model to model. */
                    input: {
                        [key: string]: unknown;
                    };
                    /** @description Only this provider; without it the first that can take the job. */
                    provider?: string;
                    /**
                     * @description The credit account that pays; the tenant’s own name for one of its users.
                     * @default default
                     * @example default
                     */
                    account?: string;
                    /**
                     * @description Seconds after which an unfinished generation expires and its credits are released.
                     * @default 900
                     */
                    deadline_seconds?: number;
                    /** @description The most that you will pay: a higher price answers 409 `price_changed`, nothing is held. */
                    max_credits?: number;
                    /**
                     * @description Where the end of this generation is announced, beside your webhook endpoints: an https URL of a public host without user name, password or port. Signed with the default secret of your tenant (`POST /v1/webhook-secret/rotate` makes it).
                     * @example https://example.com/darkroom
                     */
                    callback_url?: string;
                    /**
                     * @description Your own labels: at most 50 keys, text values of at most 500 characters.
                     * @default {}
                     * @example {
                     *       "order": "A-1"
                     *     }
                     */
                    metadata?: {
                        [key: string]: string;
                    };
                };
            };
        };
        responses: {
            /** @description The price. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Quote"];
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getCredits: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The balance. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Credits"];
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getAccountCredits: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The credit account that pays; the tenant’s own name for one of its users. */
                account: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The balance. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Credits"];
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listEntries: {
        parameters: {
            query?: {
                /** @description How many at most. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Newest first. */
                        data: components["schemas"]["Entry"][];
                        /** @description Whether there is another page. */
                        has_more: boolean;
                        /** @description Send it as `after` to get the next page. */
                        next_cursor: string | null;
                    };
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listAccountEntries: {
        parameters: {
            query?: {
                /** @description How many at most. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                after?: string;
            };
            header?: never;
            path: {
                /** @description The credit account that pays; the tenant’s own name for one of its users. */
                account: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Newest first. */
                        data: components["schemas"]["Entry"][];
                        /** @description Whether there is another page. */
                        has_more: boolean;
                        /** @description Send it as `after` to get the next page. */
                        next_cursor: string | null;
                    };
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createGrant: {
        parameters: {
            query?: never;
            header: {
                /** @description One new random value for each intent, bare or as a quoted RFC 8941 string. Send the same key to retry: the stored answer comes back, and nothing is done twice. Kept as long as what was made; unique per tenant and route. */
                "Idempotency-Key": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "credits": 1000,
                 *       "reason": "order A-1"
                 *     }
                 */
                "application/json": {
                    /**
                     * @description Whole credits, at least 1.
                     * @example 1000
                     */
                    credits: number;
                    /**
                     * @description For the history of the account.
                     * @default granted by the API
                     * @example order A-1
                     */
                    reason?: string;
                };
            };
        };
        responses: {
            /** @description Granted. A replay of the same key gives the very same bytes. */
            201: {
                headers: {
                    /** @description `true` when this is the stored answer of an earlier request with the same key. */
                    "Idempotent-Replayed"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Grant"];
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createAccountGrant: {
        parameters: {
            query?: never;
            header: {
                /** @description One new random value for each intent, bare or as a quoted RFC 8941 string. Send the same key to retry: the stored answer comes back, and nothing is done twice. Kept as long as what was made; unique per tenant and route. */
                "Idempotency-Key": string;
            };
            path: {
                /** @description The credit account that pays; the tenant’s own name for one of its users. */
                account: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "credits": 1000,
                 *       "reason": "order A-1"
                 *     }
                 */
                "application/json": {
                    /**
                     * @description Whole credits, at least 1.
                     * @example 1000
                     */
                    credits: number;
                    /**
                     * @description For the history of the account.
                     * @default granted by the API
                     * @example order A-1
                     */
                    reason?: string;
                };
            };
        };
        responses: {
            /** @description Granted. A replay of the same key gives the very same bytes. */
            201: {
                headers: {
                    /** @description `true` when this is the stored answer of an earlier request with the same key. */
                    "Idempotent-Replayed"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Grant"];
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listWebhookEndpoints: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All endpoints. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Newest first. */
                        data: components["schemas"]["WebhookEndpoint"][];
                        /** @description Whether there is another page. */
                        has_more: boolean;
                        /** @description Send it as `after` to get the next page. */
                        next_cursor: string | null;
                    };
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createWebhookEndpoint: {
        parameters: {
            query?: never;
            header: {
                /** @description One new random value for each intent, bare or as a quoted RFC 8941 string. Send the same key to retry: the stored answer comes back, and nothing is done twice. Kept as long as what was made; unique per tenant and route. */
                "Idempotency-Key": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "url": "https://example.com/webhooks/darkroom",
                 *       "description": "production"
                 *     }
                 */
                "application/json": {
                    /**
                     * @description An https URL, without user and password, that a public address answers. Redirects are not followed.
                     * @example https://example.com/webhooks/darkroom
                     */
                    url: string;
                    /** @description What it hears of; without it the four ends. `generation.updated` comes with each change of stage as well. */
                    types?: ("generation.succeeded" | "generation.failed" | "generation.cancelled" | "generation.expired" | "generation.updated")[];
                    /**
                     * @description Your own words.
                     * @default
                     * @example production
                     */
                    description?: string;
                    /**
                     * @description true = a 4xx answer (but 408, 410, 425 and 429) ends a delivery at once; false = it is tried again.
                     * @default false
                     */
                    end_on_4xx?: boolean;
                };
            };
        };
        responses: {
            /** @description Created. */
            201: {
                headers: {
                    /** @description Path of the generation. */
                    Location?: string;
                    /** @description `true` when this is the stored answer of an earlier request with the same key. */
                    "Idempotent-Replayed"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewWebhookEndpoint"];
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the endpoint. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The endpoint. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpoint"];
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the endpoint. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The id that it had. */
                        id: string;
                        /**
                         * @description Always `webhook_endpoint`.
                         * @constant
                         */
                        object: "webhook_endpoint";
                        /**
                         * @description Always true.
                         * @constant
                         */
                        deleted: true;
                    };
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    changeWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the endpoint. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "enabled": true
                 *     }
                 */
                "application/json": {
                    /**
                     * @description An https URL, without user and password, that a public address answers. Redirects are not followed.
                     * @example https://example.com/webhooks/darkroom
                     */
                    url?: string;
                    /** @description What it hears of; without it the four ends. `generation.updated` comes with each change of stage as well. */
                    types?: ("generation.succeeded" | "generation.failed" | "generation.cancelled" | "generation.expired" | "generation.updated")[];
                    /**
                     * @description Your own words.
                     * @example production
                     */
                    description?: string;
                    /** @description true = a 4xx answer (but 408, 410, 425 and 429) ends a delivery at once; false = it is tried again. */
                    end_on_4xx?: boolean;
                    /** @description false = what happens is held; true = begin afresh. What was held can be redelivered. */
                    enabled?: boolean;
                };
            };
        };
        responses: {
            /** @description The endpoint as it is now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookEndpoint"];
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    rotateWebhookEndpointSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the endpoint. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "overlap_hours": 24
                 *     }
                 */
                "application/json": {
                    /**
                     * @description For how many hours the secrets of before sign as well.
                     * @default 24
                     */
                    overlap_hours?: number;
                };
            };
        };
        responses: {
            /** @description The endpoint with its new secret. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RotatedWebhookEndpoint"];
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    testWebhookEndpoint: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the endpoint. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description On its way. */
            202: {
                headers: {
                    /** @description Path of the delivery. */
                    Location?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"];
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    redeliverSince: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the endpoint. */
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "since": "2026-11-29T12:00:00Z"
                 *     }
                 */
                "application/json": {
                    /**
                     * Format: date-time
                     * @description Events since then.
                     * @example 2026-11-29T12:00:00Z
                     */
                    since: string;
                    /**
                     * @description Also those that were delivered; else those that failed or were held.
                     * @default false
                     */
                    all?: boolean;
                };
            };
        };
        responses: {
            /** @description On their way. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description Always `redelivery`.
                         * @constant
                         */
                        object: "redelivery";
                        /** @description How many are sent again. */
                        count: number;
                        /** @description Whether there are more than 10000: call again with `next_since`. */
                        has_more: boolean;
                        /** @description `since` of the call that goes on; null when there is no more. */
                        next_since: string | null;
                    };
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    rotateWebhookSecret: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "overlap_hours": 24
                 *     }
                 */
                "application/json": {
                    /**
                     * @description For how many hours the secrets of before sign as well.
                     * @default 24
                     */
                    overlap_hours?: number;
                };
            };
        };
        responses: {
            /** @description The secret. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookSecret"];
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listWebhookDeliveries: {
        parameters: {
            query?: {
                /** @description Only those to this endpoint. */
                endpoint?: string;
                /** @description Only those that tell of this generation. */
                generation?: string;
                /** @description Only those in this state. */
                state?: "pending" | "delivered" | "failed" | "held" | "cancelled";
                /** @description How many at most. */
                limit?: number;
                /** @description `next_cursor` of the page before. */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Newest first. */
                        data: components["schemas"]["WebhookDelivery"][];
                        /** @description Whether there is another page. */
                        has_more: boolean;
                        /** @description Send it as `after` to get the next page. */
                        next_cursor: string | null;
                    };
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getWebhookDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the delivery. */
                delivery: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryDetail"];
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    redeliverWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the delivery. */
                delivery: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description On its way. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryDetail"];
                };
            };
            /** @description A problem (RFC 9457). */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
