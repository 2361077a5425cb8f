import Scenarios
import Testing
import WuKongIM

@Suite struct WuKongFaultTests {
  @Test func wordsOfAScenario_AreThoseOfTheMock() {
    #expect(WuKongFault.kinds == WuKongFaultKind.allCases.map(\.rawValue))
  }
}
