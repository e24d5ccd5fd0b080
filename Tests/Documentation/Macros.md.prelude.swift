import Foundation

@Model struct Trip {
    var name: String
}
