// Rows are CSV that spreadsheets open without harm, and read back as what they were.

import Testing
import Primitives
import Recording

@Suite struct RowsTests {
  @Test(arguments: ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"])
  func formula_IsDefusedAndReadBack(text: String) throws {
    let field = CSV.text(text)

    let fields = try #require(CSV.fields(field[...].utf8))
    #expect(fields == ["'" + text])
    #expect(CSV.original(fields[0]) == text)
  }

  @Test(arguments: ["plain", "a,b", "say \"x\"", "two\nlines", "Grüße 你好 🎉", " edge ", "", "'quoted'"])
  func text_ReadsBackAsItWas(text: String) throws {
    let line = "\(CSV.text(text)),1"

    #expect(CSV.fields(line[...].utf8) == [text, "1"])
  }

  @Test func halfWrittenQuote_IsNoRecord() {
    #expect(CSV.fields("a,\"b"[...].utf8) == nil)
  }

  @Test func session_ReadsBackAsItWas() throws {
    var session = SessionRecord()
    session.repetition = 2
    session.session = 41
    session.outcome = .failed
    session.error = .timeoutIdle
    session.scheduledStart = 10
    session.requestStart = 20
    session.requestSent = 30
    session.firstToken = 1_000
    session.lastToken = 9_000
    session.tokens = 5
    session.tokenSource = .usage
    session.metSLO = false
    session.isFakeStreaming = true
    let columns = CSVColumns(header: try #require(CSV.fields(SessionRecord.csvHeader.dropLast().utf8)))

    let fields = try #require(CSV.fields(session.csvLine(variantName: "a,b").dropLast().utf8))
    let read = try #require(SessionRecord(fields: fields, columns: columns))

    #expect(columns.text("variant", in: fields) == "a,b")
    #expect(read.csvLine(variantName: "a,b") == session.csvLine(variantName: "a,b"))
    #expect(read.latency(.ttft) == 970)
    #expect(read.latency(.tpot) == 2_000)
    #expect(read.latency(.e2e) == nil, "only complete sessions have one")
  }
}
