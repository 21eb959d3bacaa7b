"""Questions to a page that a person would answer by looking."""

from __future__ import annotations

# Texts whose contrast to what is behind them is below 4.5 to 1 (WCAG 2.2, 1.4.3).
CONTRAST = """() => {
    const parse = (colour) => {
        const [red, green, blue, alpha = 1] = colour.match(/[\\d.]+/g).map(Number);
        return {rgb: [red, green, blue], alpha};
    };
    const luminance = ({rgb}) => {
        const [red, green, blue] = rgb.map((each) => each / 255)
            .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const behind = (element) => {
        for (let each = element; each; each = each.parentElement) {
            const colour = parse(getComputedStyle(each).backgroundColor);
            if (colour.alpha === 1) return colour;
        }
        return {rgb: [255, 255, 255], alpha: 1};
    };
    const faint = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest(":disabled")) continue;
        const colours = [parse(getComputedStyle(element).color), behind(element)];
        const [one, other] = colours.map(luminance).sort((a, b) => b - a);
        if ((one + 0.05) / (other + 0.05) < 4.5) faint.push(walker.currentNode.data.trim());
    }
    return faint;
}"""

# Controls without a name.
NAMELESS = """() => [...document.querySelectorAll("button, select, input, textarea, [role=meter], [role=img]")]
    .filter((each) => each.checkVisibility())
    .filter((each) => !each.getAttribute("aria-label") && !each.labels?.length)
    .filter((each) => each.tagName !== "BUTTON" || !each.textContent.trim())
    .map((each) => each.outerHTML.slice(0, 200))"""

# Controls whose name does not contain the text that they show (WCAG 2.2, 2.5.3).
MISNAMED = """() => [...document.querySelectorAll("button[aria-label], a[aria-label]")]
    .filter((each) => each.checkVisibility() && each.textContent.trim())
    .filter((each) => !each.getAttribute("aria-label").toLowerCase().includes(each.textContent.trim().toLowerCase()))
    .map((each) => `${each.textContent.trim()} is named ${each.getAttribute("aria-label")}`)"""
