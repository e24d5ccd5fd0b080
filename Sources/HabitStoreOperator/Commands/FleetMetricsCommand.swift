import ArgumentParser
import HabitStoreFleet
import HabitStoreMetrics

/// `habitstore fleet metrics`.
struct FleetMetricsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics",
        abstract: "Prints the fleet's figures in Prometheus' text format, by its index.",
        discussion: """
            For the textfile collector of node_exporter: write them to a file beside, and rename that into its folder. No user's store is \
            looked at.
            """
    )

    @OptionGroup var userOptions: UserOptions

    func run() async throws {
        let fleet = Fleet(try await Settings(userOptions).place)
        try Output.write(MetricFamily.text(try fleet.metrics()))
    }
}
