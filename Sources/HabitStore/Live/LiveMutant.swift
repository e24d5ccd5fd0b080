/// Bugs that live queries could well have, for tests of what is to find them. Only debug builds know them.
package enum LiveMutant: String, CaseIterable, Sendable {
    case lostDeletion = "a record that was deleted stays"
    case lostDeparture = "a record that does not fulfil the condition any more stays"
    case lostArrival = "a record that now fulfils the condition is not inserted"
    case staleContents = "a record that stays where it is keeps its old contents"
    case putLast = "a record is put at the end, wherever it belongs"
    case lostDirection = "the first key of the order is always ascending"
    case orderNotRead = "a change of an attribute that the order reads is ignored"
    case otherEntityNotRead = "a change of a record that a relationship leads to is ignored"
    case neverShort = "a window whose reserve is used up is not filled"
    case alwaysComplete = "records after the window that are not kept count as missing"
    case lostOffset = "the window begins at the first record"
    case firstChangeCounts = "of several changes of a record only the first one counts"
    case lostRestart = "a pruned history is taken for an empty one"
    case movesAreUpdates = "a record that stands elsewhere is said to have other contents"
    case touchedOnce = "a record that was touched before is not reported again"
    case removalsInLater = "removals are counted in the later answer"

    #if PLANNER_MUTANTS
    /// The bug that is planted in what runs below.
    @TaskLocal package static var planted: LiveMutant?

    @inline(__always)
    static func isPlanted(_ mutant: LiveMutant) -> Bool { planted == mutant }
    #else
    @inline(__always)
    static func isPlanted(_ mutant: LiveMutant) -> Bool { false }
    #endif
}
