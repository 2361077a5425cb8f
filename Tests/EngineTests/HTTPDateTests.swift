import Engine
import Testing

/// RFC 9110, 5.6.7: the three forms of a date, and what is none.
@Suite struct HTTPDateTests {
  /// 2026-01-01.
  private static let now: Int64 = 1_767_225_600

  @Test(arguments: [
    "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
  ])
  func eachForm_IsTheSameInstant(text: String) {
    #expect(HTTPDate.seconds(text, now: Self.now) == 784_111_777)
  }

  @Test(arguments: [
    ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
    ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
    ("Tue, 19 Jan 2038 03:14:07 GMT", 2_147_483_647), ("Sat Feb 28 23:59:60 2026", 1_772_323_200),
    ("Sunday, 01-Jan-76 00:00:00 GMT", 3_345_062_400), ("Sunday, 01-Jan-77 00:00:00 GMT", 220_924_800),
  ])
  func corners_AreAsTheCalendarHasThem(text: String, seconds: Int64) {
    #expect(HTTPDate.seconds(text, now: Self.now) == seconds)
  }

  @Test(arguments: [
    "", "soon", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 31 Nov 1994 08:49:37 GMT",
    "Thu, 29 Feb 2001 00:00:00 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
    "Sun, 6 Nov 1994 08:49:37 GMT",
    "Sunday, 06-Nov-1994 08:49:37 GMT", "Xxx, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 0000 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49 GMT",
  ])
  func anythingElse_IsNone(text: String) {
    #expect(HTTPDate.seconds(text, now: Self.now) == nil)
  }
}
