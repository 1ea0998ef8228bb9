# How far runs have moved from their reference model, and what reward that bought.
#
#   marimo run notebooks/02_kl.py -- --source runs --run first --run second
import marimo

app = marimo.App(width="medium", app_title="KL divergence")


@app.cell
def _():
    import altair as alt
    import marimo as mo
    from runs import curve, default_source, run_names

    return alt, curve, default_source, mo, run_names


@app.cell
def _(default_source, mo):
    source = mo.ui.text(
        value=mo.cli_args().get("source") or default_source(),
        label="Run directories in, or an MLflow server at",
        full_width=True,
    )
    refresh = mo.ui.refresh(options=["5s", "30s"], label="Read again every")
    mo.vstack([mo.md("# KL divergence from the reference"), source, refresh])
    return refresh, source


@app.cell
def _(mo, refresh, run_names, source):
    refresh
    names = run_names(source.value)
    asked = mo.cli_args().get_all("run")
    chosen = mo.ui.multiselect(options=names, value=[name for name in asked if name in names] or names[:1], label="Runs")
    chosen
    return (chosen,)


@app.cell
def _(chosen, curve, source):
    kl = [point for run in chosen.value for point in curve(source.value, run, "kl")]
    rewards = {
        (point["run"], point["step"]): point["value"]
        for run in chosen.value
        for point in curve(source.value, run, "reward")
    }
    bought = [
        {**point, "reward": rewards[point["run"], point["step"]]}
        for point in kl
        if (point["run"], point["step"]) in rewards
    ]
    return bought, kl


@app.cell
def _(alt, bought, kl, mo):
    by_run = alt.Color("run:N", title="run")
    over_steps = alt.Chart(alt.Data(values=kl), width=640, height=240).mark_line().encode(
        x=alt.X("step:Q", title="step"),
        y=alt.Y("value:Q", title="KL divergence, nats"),
        color=by_run,
        tooltip=["run:N", "step:Q", alt.Tooltip("value:Q", format=".4f")],
    )
    reward_for_kl = alt.Chart(alt.Data(values=bought), width=640, height=240).mark_circle(opacity=0.5).encode(
        x=alt.X("value:Q", title="KL divergence, nats"),
        y=alt.Y("reward:Q", title="reward", scale=alt.Scale(zero=False)),
        color=by_run,
        tooltip=["run:N", "step:Q", alt.Tooltip("reward:Q", format=".3f"), alt.Tooltip("value:Q", format=".4f")],
    )
    missing = mo.md("These runs have no KL divergence: language models measure it if `beta` is above 0.")
    mo.vstack([mo.ui.altair_chart(over_steps), mo.ui.altair_chart(reward_for_kl)]) if kl else missing
    return


if __name__ == "__main__":
    app.run()
