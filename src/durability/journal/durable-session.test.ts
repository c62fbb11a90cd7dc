import { describe } from "vitest";
import { testDurableSessions } from "./durable-session.suite.ts";
import { journalPlaces } from "./journal-places.suite.ts";

describe.each(journalPlaces)("%s", (_name, createPlace) => testDurableSessions(createPlace));
