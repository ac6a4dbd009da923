import theme from 'vitepress/theme'
import './pages.css'
import './landing.css'

export default theme
