import HabitStore
import HabitStoreRollout

extension PlantedFault {
    /// The faults of the catalogue in stores on a server.
    static let onServer = all.filter { $0.engine == .postgres }

    /// The faults of the catalogue in files.
    static let inFiles = all.filter { $0.engine != .postgres }

    /// Every fault of the catalogue.
    static let all: [PlantedFault] = {
        let contents = PlantedUser.contents
        return flippedBits(contents) + numbers(contents) + texts(contents) + lists(contents) + records(contents)
            + links(contents) + indexes(contents) + digests(contents) + histories(contents) + misanswers
    }()

    /// An engine that answers wrongly although its file is right.
    private static var misanswers: [PlantedFault] {
        let names: [(Misanswer, String)] = [
            (.opposedOrder, "a fetch in the opposite order"),
            (.swappedNeighbours, "two swapped neighbours of a fetch"),
            (.shiftedPage, "a page that starts one record late"),
            (.lostNil, "an order that drops nil"),
            (.lostLast, "a fetch without its last record"),
            (.repeatedFirst, "a fetch with its first record twice"),
            (.miscount, "a count that differs from the rows"),
            (.failure, "a fetch that fails on one side"),
        ]
        return names.flatMap { misanswer, name in
            engines.map {
                PlantedFault(name: name, engine: $0, deed: .answers(misanswer), traces: [Trace(level: "queries")])
            }
        }
    }
}
