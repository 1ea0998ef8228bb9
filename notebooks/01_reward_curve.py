# Reward and success rate of runs.
#
#   marimo run notebooks/01_reward_curve.py -- --source runs --run first --run second
import marimo

app = marimo.App(width="medium", app_title="Reward")


@app.cell
def _():
    import altair as alt
    import marimo as mo
    from runs import curve, default_source, run_names, running_mean

    return alt, curve, default_source, mo, run_names, running_mean


@app.cell
def _(default_source, mo):
    source = mo.ui.text(
        value=mo.cli_args().get("source") or default_source(),
        label="Run directories in, or an MLflow server at",
        full_width=True,
    )
    refresh = mo.ui.refresh(options=["5s", "30s"], label="Read again every")
    mo.vstack([mo.md("# Reward and success rate"), source, refresh])
    return refresh, source


@app.cell
def _(mo, refresh, run_names, source):
    refresh
    names = run_names(source.value)
    asked = mo.cli_args().get_all("run")
    chosen = mo.ui.multiselect(options=names, value=[name for name in asked if name in names] or names[:1], label="Runs")
    window = mo.ui.slider(1, 51, step=2, value=9, label="Steps in the running mean", show_value=True)
    mo.hstack([chosen, window], justify="start")
    return chosen, window


@app.cell
def _(chosen, curve, source):
    reward = [point for run in chosen.value for point in curve(source.value, run, "reward")]
    success = [point for run in chosen.value for point in curve(source.value, run, "eval/sampled_accuracy")]
    return reward, success


@app.cell
def _(alt, chosen, mo, reward, running_mean, success, window):
    def lines(points, title, **mark):
        data = alt.Data(values=points)
        return alt.Chart(data, width=640, height=240).mark_line(**mark).encode(
            x=alt.X("step:Q", title="step"),
            y=alt.Y("value:Q", title=title, scale=alt.Scale(zero=False)),
            color=alt.Color("run:N", title="run"),
            tooltip=["run:N", "step:Q", alt.Tooltip("value:Q", format=".3f")],
        )

    by_run = [[point for point in reward if point["run"] == run] for run in chosen.value]
    smooth = [point for points in by_run for point in running_mean(points, window.value)]
    charts = [
        lines(reward, "reward", opacity=0.3) + lines(smooth, "reward") if reward else None,
        lines(success, "success rate on held-out problems", point=True) if success else None,
    ]
    shown = [mo.ui.altair_chart(chart) for chart in charts if chart is not None]
    mo.vstack(shown) if shown else mo.md("No run is chosen, or it has no steps yet.")
    return


@app.cell
def _(chosen, mo, reward, success):
    def ends(points, run):
        values = [point["value"] for point in points if point["run"] == run]
        return f"{values[0]:.3f} → {values[-1]:.3f}" if values else "–"

    table = [
        {"run": run, "reward, first and last step": ends(reward, run), "success rate": ends(success, run)}
        for run in chosen.value
    ]
    mo.ui.table(table, selection=None) if table else None
    return


if __name__ == "__main__":
    app.run()
