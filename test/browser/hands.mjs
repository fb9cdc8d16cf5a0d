const maxStops = 200;

/**
 * The two ways in which a person goes through the console: `press` follows a link or a button, `write` fills a field in,
 * `find` opens the palette, types there and takes the first of what it offers. `clicks` counts what the mouse pressed.
 */
export const byMouse = {
  name: 'by mouse',
  on(page) {
    let clicks = 0;
    const press = async (locator) => {
      clicks += 1;
      await locator.click();
    };
    return {
      press,
      write: (locator, text) => locator.fill(text),
      async find(text) {
        await press(page.getByRole('button', { name: 'Search or run a command' }));
        await page.getByRole('combobox', { name: 'Search or run a command' }).fill(text);
        await press(page.getByRole('option', { name: text }).first());
      },
      clicks: () => clicks,
    };
  },
};

/** Tab, letters and Enter alone: what Tab does not reach cannot be pressed. */
export const byKeys = {
  name: 'by keyboard alone',
  on(page) {
    const { keyboard } = page;
    const goTo = async (locator) => {
      await locator.waitFor();
      for (let stop = 0; stop < maxStops; stop += 1) {
        if (await locator.evaluate((element) => element === document.activeElement)) return;
        await keyboard.press('Tab');
      }
      throw new Error(`Tab does not reach ${locator}`);
    };
    return {
      async press(locator) {
        await goTo(locator);
        await keyboard.press('Enter');
      },
      async write(locator, text) {
        await goTo(locator);
        await keyboard.press('Control+a');
        await keyboard.type(text);
      },
      async find(text) {
        await keyboard.press('Control+k');
        await page.getByRole('combobox', { name: 'Search or run a command' }).waitFor();
        await keyboard.type(text);
        await page.getByRole('option', { name: text }).first().waitFor();
        await keyboard.press('Enter');
      },
      clicks: () => 0,
    };
  },
};

/** Chooses from a list that a button opens. */
export async function choose(page, label, option) {
  await page.getByRole('combobox', { name: label, exact: true }).click();
  await page.getByRole('option', { name: option, exact: true }).click();
}

/** Saves a change of a tool, which asks why. */
export async function saveRevision(page, reason = 'it was wrong') {
  await page.getByRole('button', { name: 'Save revision', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill(reason);
  await dialog.getByRole('button', { name: 'Save revision' }).click();
  await dialog.waitFor({ state: 'detached' });
}

/** @returns the field of a filter that the bar offers */
export async function addFilter(page, name) {
  await page.getByRole('button', { name: 'Add filter' }).click();
  await page.getByRole('menuitem', { name, exact: true }).click();
  return page.getByRole('search').getByLabel(name, { exact: true });
}
