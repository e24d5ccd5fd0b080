import ArgumentParser
import HabitStoreFleet
import HabitStoreMetrics

/// `habitstore fleet metrics`.
struct FleetMetricsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics",
        abstract: "Prints the fleet's metrics in Prometheus' text format, from its index.",
        discussion: """
            For the textfile collector of node_exporter: write them to a temporary file, and rename that into the \
            collector's folder. No user's store is opened.
            """
    )

    @OptionGroup var userOptions: UserOptions

    func run() async throws {
        let fleet = Fleet(try await Settings(userOptions).place)
        try Output.write(MetricFamily.text(try fleet.metrics()))
    }
}
