import Foundation
import HabitStoreMacros

@Model
package struct Note {
    package var title: String
}
